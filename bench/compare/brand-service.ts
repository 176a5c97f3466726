import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import * as z from 'zod/mini';
import {
  type Fault,
  type ServicePlan,
  type ServiceUsage,
  type ToService,
  fromServiceSchema,
} from './service-messages.ts';

/** A running service of prepared bytes. */
export interface BrandService {
  url: string;
  plan: ServicePlan;
  /** Forgets the counts; from now on responses have this fault. */
  begin(fault?: Fault): Promise<void>;
  usage(): Promise<ServiceUsage>;
  /** Resolves when a client waits for the page that gets no response. */
  held(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts `service.ts`. Its pages are prepared when the promise resolves. */
export async function startBrandService(plan: ServicePlan): Promise<BrandService> {
  const child = fork(fileURLToPath(new URL('./service.ts', import.meta.url)), [JSON.stringify(plan)], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const { url } = z.parse(z.object({ url: z.string() }), await nextMessage(child));
  const ask = async (message: ToService) => {
    const answered = answerOf(child);
    child.send(message);
    return answered;
  };
  return {
    url,
    plan,
    begin: async (fault = 'none') => void (await ask({ ask: 'begin', fault })),
    usage: () => ask({ ask: 'usage' }),
    async held() {
      while (!('held' in z.parse(fromServiceSchema, await nextMessage(child))));
    },
    async stop() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

async function answerOf(child: ChildProcess): Promise<ServiceUsage> {
  for (;;) {
    const message = z.parse(fromServiceSchema, await nextMessage(child));
    if ('requests' in message) return message;
  }
}

async function nextMessage(child: ChildProcess): Promise<unknown> {
  const [message]: unknown[] = await once(child, 'message');
  return message;
}
