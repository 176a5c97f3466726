/**
 * Plays the service of a history. Until the storm is over, its responses are slow, throttled, cut off, reset or broken,
 * its cursors die, and credentials are replaced.
 */
import { MINUTE_MS } from '../../shared/base/days.ts';
import type { SendRequest } from '../../shared/ports.ts';
import type { Random } from '../simulation/random.ts';
import { type SimulatedService, httpResponse, simulatedService } from '../simulation/service.ts';
import type { Timeline } from '../simulation/timeline.ts';
import { type World, newAccount } from './world.ts';

/** Refusals that a client that obeys the interface may meet in a storm. */
const UNAVOIDABLE =
  /^authentication failed: (?:the date is more|the digest|unknown token)|^cursor: |^first: not a position/;

export interface TorturedService extends SimulatedService {
  /** The probability that a request meets a fault; 0 after the storm. */
  faultRate: number;
  requests: number;
  faults: number;
  send: SendRequest;
}

export function createService(world: World, time: Timeline, random: Random): TorturedService {
  const { brand, credentials: account, interpretation, hasDates } = world;
  const nowMs = () => time.nowMs;
  const send: SendRequest = async (request, { onHeaders }) => {
    const respond = (status: number, text: string, more: { 'retry-after'?: string } = {}) => {
      const response = httpResponse({ status, text }, { ...(hasDates && { dateMs: time.nowMs }), ...more });
      onHeaders(response.headers);
      return response;
    };
    service.requests += 1;
    await time.sleep(latencyMs());
    const fault = random.chance(service.faultRate) ? random.pick(FAULTS) : undefined;
    if (fault) service.faults += 1;
    switch (fault) {
      case 'reset':
        return { failed: 'ECONNRESET' };
      case 'hangs':
        await time.sleep(30_000);
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
    const { status, text } = service.answer(request);
    await time.sleep(latencyMs());
    if (fault === 'lost') return { failed: 'ECONNRESET' };
    const response = respond(status, text);
    return fault === 'cut off' ? { failed: 'cut_off' } : response;
  };

  function latencyMs(): number {
    if (service.faultRate > 0 && random.chance(0.01)) return random.between(1, 25) * 1000;
    return random.between(20, 300);
  }

  const simulated = simulatedService({ brand, account, interpretation, nowMs, tolerated: UNAVOIDABLE });
  const service = Object.assign(simulated, { faultRate: 0, requests: 0, faults: 0, send });
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

/** Until the storm ends, the service sometimes forgets its cursors, and credentials are replaced. */
export async function ageService(
  world: World,
  service: SimulatedService,
  time: Timeline,
  random: Random,
): Promise<void> {
  while (time.nowMs < world.stormEndMs) {
    await time.sleep(random.between(5, 240) * MINUTE_MS);
    if (random.chance(0.5)) service.forgetCursors();
    if (random.chance(0.05)) {
      service.account = newAccount(random);
      world.secrets.add(service.account.token).add(service.account.secret);
      await time.sleep(random.between(0, 120) * MINUTE_MS);
      world.credentials = service.account;
    }
  }
}
