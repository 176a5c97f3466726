import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import * as z from 'zod/mini';
import { startHttpServer } from '../fakes/http-server.ts';

const invocationSchema = z.object({
  name: z.string(),
  task: z.string(),
  /** `module.export` */
  handler: z.string(),
  timeoutSeconds: z.number(),
  memoryMb: z.number(),
  environment: z.record(z.string(), z.string()),
  event: z.unknown(),
});
type Invocation = z.infer<typeof invocationSchema>;

/** A response of Lambda: JSON, also for an error, and the output of the function. */
interface Answer {
  payload: string;
  failed: boolean;
  log: string;
}

interface Environment {
  invoke(event: unknown): Promise<Answer>;
  close(): Promise<void>;
}

/** `AWS_LAMBDA_RIC` names AWS's own runtime, `…/aws-lambda-ric/index.mjs`, which must be built natively. */
const RUNTIME = process.env.AWS_LAMBDA_RIC ?? fileURLToPath(new URL('./bootstrap.ts', import.meta.url));

/**
 * Runs functions as Lambda does: each posted event goes through the Runtime API to an idle process of the function, or
 * to a new process.
 * @param variables go to every function, in addition to its own
 */
export async function startFunctionsServer(variables: Readonly<Record<string, string>>) {
  const idle = new Map<string, Environment[]>();
  const all: Environment[] = [];

  async function run({ event, ...deployed }: Invocation): Promise<Answer> {
    const key = JSON.stringify(deployed);
    const environment = idle.get(key)?.pop() ?? (await startEnvironment(deployed, variables));
    if (!all.includes(environment)) all.push(environment);
    const answer = await environment.invoke(event);
    if (!answer.failed) idle.set(key, [...(idle.get(key) ?? []), environment]);
    return answer;
  }

  const server = await startHttpServer((_request, body, response) => {
    const posted: unknown = JSON.parse(body.toString());
    return run(z.parse(invocationSchema, posted)).then(
      (answer) => response.end(JSON.stringify(answer)),
      () => response.destroy(),
    );
  });
  return {
    url: server.url,
    close: async () => void (await Promise.all([server, ...all].map((each) => each.close()))),
  };
}

/** A process of a function, and the Runtime API from which it gets events. */
async function startEnvironment(
  { name, task, handler, timeoutSeconds, memoryMb, environment }: Omit<Invocation, 'event'>,
  variables: Readonly<Record<string, string>>,
): Promise<Environment> {
  let log = '';
  let nextEvent = Promise.withResolvers<ServerResponse>();
  let answered = Promise.withResolvers<Answer>();
  const end = (payload: string, failed: boolean) => answered.resolve({ payload, failed, log });
  const fail = (errorType: string, errorMessage: string) =>
    end(JSON.stringify({ errorType, errorMessage }), true);

  const api = await startHttpServer(({ url = '' }, body, response) => {
    if (url.endsWith('/invocation/next')) return nextEvent.resolve(response);
    response.writeHead(202).end();
    end(body.toString(), url.endsWith('/error'));
  });
  const child = spawn(process.execPath, [RUNTIME, handler], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      ...variables,
      ...environment,
      AWS_LAMBDA_FUNCTION_NAME: name,
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
      AWS_LAMBDA_LOG_GROUP_NAME: name,
      AWS_LAMBDA_LOG_STREAM_NAME: randomUUID(),
      AWS_LAMBDA_LOG_FORMAT: 'JSON',
      AWS_LAMBDA_RUNTIME_API: new URL(api.url).host,
      LAMBDA_TASK_ROOT: task,
      _HANDLER: handler,
    },
  });
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
  const ended = once(child, 'close').then(([code]) =>
    fail('Runtime.ExitError', `Runtime exited with ${code}`),
  );

  return {
    async invoke(event) {
      const timeoutMs = timeoutSeconds * 1000;
      const timer = setTimeout(() => {
        fail('Sandbox.Timedout', `Task timed out after ${timeoutSeconds} seconds`);
        child.kill('SIGKILL');
      }, timeoutMs);
      const headers = {
        'content-type': 'application/json',
        'lambda-runtime-aws-request-id': randomUUID(),
        'lambda-runtime-deadline-ms': String(Date.now() + timeoutMs),
        'lambda-runtime-invoked-function-arn': `arn:aws:lambda:us-east-1:123456789012:function:${name}`,
        'lambda-runtime-trace-id': 'Root=1-00000000-000000000000000000000000;Sampled=0',
      };
      void nextEvent.promise.then((response) => {
        nextEvent = Promise.withResolvers();
        response.writeHead(200, headers).end(JSON.stringify(event));
      });
      const answer = await answered.promise;
      clearTimeout(timer);
      answered = Promise.withResolvers();
      return answer;
    },
    async close() {
      child.kill('SIGKILL');
      await Promise.all([ended, api.close()]);
    },
  };
}
