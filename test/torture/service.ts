/**
 * The strict service of a history, in its virtual time and without a network: the same rules and pages as
 * `test/strict-service`. Until the storm is over, responses are slow, throttled, cut off, reset or
 * broken, cursors die, and credentials are replaced.
 */
import { MINUTE_MS } from '../../shared/days.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { HttpHeaders, HttpRequest, HttpResponse, SendRequest } from '../../shared/ports.ts';
import { httpDate } from '../../shared/service/server-clock.ts';
import { type Page, answers } from '../strict-service/answer.ts';
import { Refusal, type SignedCall, readCall } from '../strict-service/refuse.ts';
import type { Random } from './random.ts';
import type { Simulation } from './simulation.ts';
import { SERVICE, type World, newAccount, shown } from './world.ts';

/** Refusals that a client which obeys the interface may meet in a storm. */
const UNAVOIDABLE = /clock has drifted|digest is wrong|bid and token are not known|cursor is not known/;

export interface TorturedService {
  /** How likely a request meets a fault; 0 after the storm. */
  faultRate: number;
  requests: number;
  faults: number;
  /** What the client asked that the interface does not allow. */
  readonly violations: string[];
  /** Called after each answered call. */
  afterAnswer: (call: SignedCall, page: Page) => void;
  send: SendRequest;
}

export function createService(world: World, simulation: Simulation, random: Random): TorturedService {
  const path = '/api/brand-side';

  const send: SendRequest = async (request, { onHeaders }) => {
    const respond = (status: number, text: string, more: HttpHeaders = {}): HttpResponse => {
      const headers = { ...(world.hasDates && { date: httpDate(simulation.nowMs) }), ...more };
      onHeaders(headers);
      return { status, headers, body: Buffer.from(text) };
    };
    service.requests += 1;
    await simulation.sleep(latencyMs());
    const fault = random.chance(service.faultRate) ? random.pick(FAULTS) : undefined;
    if (fault) service.faults += 1;
    switch (fault) {
      case 'reset':
        return { failed: 'ECONNRESET' };
      case 'hangs':
        await simulation.sleep(30_000);
        return { failed: 'timeout' };
      case '500':
        return respond(500, 'upstream failed');
      case '429':
        return respond(429, '', { 'retry-after': String(random.pick([0, 1, 30, 300, 1800])) });
      case 'HTML':
        return respond(200, '<html>Maintenance</html>');
      case 'code is not 0':
        return respond(200, JSON.stringify({ code: 10_002, msg: 'the report is not available', data: {} }));
    }
    const text = JSON.stringify(answer(request));
    await simulation.sleep(latencyMs());
    if (fault === 'lost') return { failed: 'ECONNRESET' };
    const response = respond(200, text);
    return fault === 'cut off' ? { failed: 'cut_off' } : response;
  };

  function answer({ url, method, headers, body }: HttpRequest): JsonObject {
    try {
      const call = readCall({ url, method, headers: lowerCase(headers) }, body ?? '', {
        path,
        name: SERVICE,
        accounts: [world.account],
        interpretation: world.interpretation,
        nowMs: simulation.nowMs,
      });
      return answerOf(call);
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) service.violations.push(`this service is broken: ${String(thrown)}`);
      if (!(thrown instanceof Refusal)) throw thrown;
      if (!UNAVOIDABLE.test(thrown.message)) service.violations.push(thrown.message);
      return { code: 10_001, msg: thrown.message, data: {} };
    }
  }

  function answerOf(call: SignedCall): JsonObject {
    const action = answers[call.action];
    if (!action) throw new Refusal(`no action ${call.action}`);
    const { interpretation, timeZone, cursors } = world;
    cursors.callNumber = service.requests;
    const nowMs = simulation.nowMs;
    const served = {
      call,
      interpretation,
      timeZone,
      cursors: { ...cursors },
      visible: (table: keyof World['holdings']) => shown(world, table, nowMs),
    };
    const page = action.find(served);
    const { data, envelopeFields } = action.shape(page, served);
    service.afterAnswer(call, page);
    return { code: 0, msg: 'success', data, ...envelopeFields };
  }

  function latencyMs(): number {
    if (service.faultRate > 0 && random.chance(0.01)) return random.between(1, 25) * 1000;
    return random.between(20, 300);
  }

  const service: TorturedService = {
    faultRate: 0,
    requests: 0,
    faults: 0,
    violations: [],
    afterAnswer: () => {},
    send,
  };
  return service;
}

const FAULTS = [
  'reset',
  'reset',
  'hangs',
  '500',
  '500',
  '429',
  '429',
  'HTML',
  'code is not 0',
  'lost',
  'cut off',
] as const;

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Until the storm ends, the service forgets its cursors now and then, and credentials are replaced. */
export async function ageService(world: World, simulation: Simulation, random: Random): Promise<void> {
  while (simulation.nowMs < world.stormEndMs) {
    await simulation.sleep(random.between(5, 240) * MINUTE_MS);
    if (random.chance(0.5) && !world.without.has('dead cursors')) world.cursors.generation += 1;
    if (random.chance(0.05) && !world.without.has('rotations')) {
      world.account = newAccount(random);
      world.secrets.add(world.account.token).add(world.account.secret);
      await simulation.sleep(random.between(0, 120) * MINUTE_MS);
      world.credentials = world.account;
    }
  }
}
