import { setTimeout as sleep } from 'node:timers/promises';
import type { CloudFormationRequest } from './rebuild-catalog-event.ts';

const TRIES = 4;
/** CloudFormation takes an answer of 4 kB, and shows the reason in a narrow column. */
const LONGEST_REASON = 1_000;

export type Answer = { status: 'SUCCESS' } | { status: 'FAILED'; reason: string };

/**
 * Answers CloudFormation, which otherwise waits for an hour.
 * @throws Error when its address takes no answer; it does not hold that address, which is signed
 */
export async function answerCloudFormation(request: CloudFormationRequest, answer: Answer): Promise<void> {
  const { StackId, RequestId, LogicalResourceId, PhysicalResourceId = 'brand-reports-setup' } = request;
  const body = JSON.stringify({
    Status: answer.status,
    ...(answer.status === 'FAILED' && { Reason: shortened(answer.reason) }),
    // Another id at an update would mean another resource, and have the one before deleted.
    PhysicalResourceId,
    StackId,
    RequestId,
    LogicalResourceId,
  });
  for (let tried = 1; ; tried += 1) {
    const failed = await put(request.ResponseURL, body);
    if (failed === undefined) return;
    if (tried === TRIES) throw new Error(`CloudFormation did not take the answer: ${failed}`);
    await sleep(250 * 2 ** tried);
  }
}

/** @returns what went wrong */
async function put(url: string, body: string): Promise<string | undefined> {
  try {
    // As bytes, because for text fetch adds a content type, which the address is not signed for.
    const { ok, status } = await fetch(url, {
      method: 'PUT',
      body: Buffer.from(body),
      signal: AbortSignal.timeout(5_000),
    });
    return ok ? undefined : `HTTP ${status}`;
  } catch (error) {
    return error instanceof Error ? error.name : 'no answer';
  }
}

function shortened(reason: string): string {
  return reason.length <= LONGEST_REASON ? reason : `${reason.slice(0, LONGEST_REASON - 1)}…`;
}
