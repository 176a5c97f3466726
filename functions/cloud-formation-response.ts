import { setTimeout as sleep } from 'node:timers/promises';
import { exponentialMs } from '../shared/backoff.ts';
import type { CloudFormationRequest } from './rebuild-catalog-event.ts';

const CLOUDFORMATION_RETRY = { maxAttempts: 4, baseMs: 500, capMs: 2_000 };
/** CloudFormation accepts responses of up to 4 kB, and shows the reason in a narrow column. */
const MAX_REASON_LENGTH = 1_000;

export type CloudFormationResponse = { status: 'SUCCESS' } | { status: 'FAILED'; reason: string };

/**
 * Sends the response of a custom resource. Without a response, CloudFormation waits until its timeout.
 * @throws Error if the response is not accepted; its message does not contain the address, which is signed (I9)
 */
export async function respondToCloudFormation(
  request: CloudFormationRequest,
  response: CloudFormationResponse,
): Promise<void> {
  const { StackId, RequestId, LogicalResourceId, PhysicalResourceId = 'brand-reports-catalog' } = request;
  const body = JSON.stringify({
    Status: response.status,
    ...(response.status === 'FAILED' && { Reason: shortened(response.reason) }),
    // At an update, a different id would mean a new resource, and CloudFormation would delete the old one.
    PhysicalResourceId,
    StackId,
    RequestId,
    LogicalResourceId,
  });
  for (let tried = 1; ; tried += 1) {
    const failed = await put(request.ResponseURL, body);
    if (failed === undefined) return;
    if (tried === CLOUDFORMATION_RETRY.maxAttempts)
      throw new Error(
        `CloudFormation did not accept the response in ${CLOUDFORMATION_RETRY.maxAttempts} tries: ${failed}`,
      );
    await sleep(exponentialMs(tried - 1, CLOUDFORMATION_RETRY));
  }
}

/** @returns what went wrong; `undefined` if CloudFormation accepted the response */
async function put(url: string, body: string): Promise<string | undefined> {
  try {
    // As bytes: with text, `fetch` adds a content type, which the signature does not cover.
    const { ok, status } = await fetch(url, {
      method: 'PUT',
      body: Buffer.from(body),
      // No redirects, because only the first address was checked.
      redirect: 'manual',
      signal: AbortSignal.timeout(5_000),
    });
    return ok ? undefined : `HTTP ${status}`;
  } catch (error) {
    return error instanceof Error ? error.name : 'no response';
  }
}

function shortened(reason: string): string {
  return reason.length <= MAX_REASON_LENGTH ? reason : `${reason.slice(0, MAX_REASON_LENGTH - 1)}…`;
}
