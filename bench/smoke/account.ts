/** Calls the AWS CLI and CDK, and waits for what AWS does later. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import * as z from 'zod/mini';

const execute = promisify(execFile);
/** Tests against stubs need not wait. */
const POLL_MS = Number(process.env.SMOKE_POLL_MS ?? 2000);

/** Credentials of an assumed role, as variables of the environment; empty: whoever runs the script. */
export type Identity = Readonly<Record<string, string>>;

const failureSchema = z.object({ stderr: z.string() });

/** What the calls so far have cost, about. */
export const used = { queries: 0, functionSeconds: 0 };

/** The JSON that the AWS CLI prints. @throws Error with what it says on standard error */
export async function aws(args: readonly string[], identity: Identity = {}): Promise<unknown> {
  const env = { ...process.env, ...identity };
  const maxBuffer = 64 * 1024 * 1024;
  try {
    const { stdout } = await execute('aws', [...args, '--output', 'json'], { env, maxBuffer });
    return stdout.trim() === '' ? null : JSON.parse(stdout);
  } catch (error) {
    const { success, data } = z.safeParse(failureSchema, error);
    const why = success ? data.stderr.trim() : String(error);
    throw new Error(`aws ${args.slice(0, 2).join(' ')}: ${why}`, { cause: error });
  }
}

/** @param query of the CLI, which selects a text */
export async function awsText(query: string, args: readonly string[], identity?: Identity): Promise<string> {
  return z.parse(z.string(), await aws([...args, '--query', query], identity));
}

/** @param query of the CLI, which selects texts, or nothing */
export async function awsTexts(
  query: string,
  args: readonly string[],
  identity?: Identity,
): Promise<string[]> {
  return z.parse(z.nullable(z.array(z.string())), await aws([...args, '--query', query], identity)) ?? [];
}

/** Runs CDK, which prints where it is. @throws Error unless it succeeds */
export async function cdk(...args: string[]): Promise<void> {
  const [code] = await once(spawn('npx', ['cdk', ...args], { stdio: 'inherit' }), 'close');
  if (code !== 0) throw new Error(`cdk ${args[0]} failed: its output is above`);
}

/** Repeats the probe until it returns something. @throws Error with the probe's last one if it does not in time */
export async function waitFor<T>(
  what: string,
  minutes: number,
  probe: () => Promise<T | undefined>,
): Promise<T> {
  let last: unknown;
  for (let left = Math.ceil((minutes * 60_000) / 2000); left > 0; left -= 1) {
    const found = await probe().catch((error: unknown) => void (last = error));
    if (found !== undefined) return found;
    await sleep(POLL_MS);
  }
  throw new Error(`${what} did not happen within ${minutes} minutes${last ? `: ${messageOf(last)}` : ''}`);
}

/** @throws Error unless AWS denies the call */
export async function denied(identity: Identity, ...args: string[]): Promise<void> {
  const answer = await aws(args, identity).then(
    () => 'was allowed',
    (error: unknown) => messageOf(error),
  );
  if (!/AccessDenied|not authorized|Forbidden/i.test(answer))
    throw new Error(`${args.slice(0, 2).join(' ')} is not denied: ${answer}`);
}

/** Runs a query. @returns the first cell of its answer, null if it has no row */
export async function athena(
  sql: string,
  { workGroup, database, identity = {} }: { workGroup: string; database: string; identity?: Identity },
): Promise<string | null> {
  used.queries += 1;
  const start = ['athena', 'start-query-execution', '--work-group', workGroup];
  const what = ['--query-execution-context', `Database=${database}`, '--query-string', sql];
  const id = await awsText('QueryExecutionId', [...start, ...what], identity);
  const status = ['athena', 'get-query-execution', '--query-execution-id', id];
  const state = await waitFor('the end of a query', 5, async () => {
    const now = await awsText('QueryExecution.Status.State', status, identity);
    return ['QUEUED', 'RUNNING'].includes(now) ? undefined : now;
  });
  if (state !== 'SUCCEEDED') {
    const why = await aws([...status, '--query', 'QueryExecution.Status.StateChangeReason'], identity);
    throw new Error(`${state}: ${why} (${sql.slice(0, 80)})`);
  }
  const results = ['athena', 'get-query-results', '--query-execution-id', id];
  const cell = await aws([...results, '--query', 'ResultSet.Rows[1].Data[0].VarCharValue'], identity);
  return z.parse(z.nullable(z.string()), cell);
}

/** Runs a function. @returns its answer @throws Error if it fails */
export async function invoke(
  name: string,
  event: object,
  file: string,
  identity?: Identity,
): Promise<unknown> {
  const began = Date.now();
  const how = ['--cli-binary-format', 'raw-in-base64-out', '--cli-read-timeout', '910'];
  const what = ['--payload', JSON.stringify(event), file, '--query', 'FunctionError'];
  const failure = await aws(['lambda', 'invoke', '--function-name', name, ...how, ...what], identity);
  used.functionSeconds += (Date.now() - began) / 1000;
  const answer: unknown = JSON.parse(await readFile(file, 'utf8'));
  if (failure !== null) throw new Error(`${name} failed: ${JSON.stringify(answer)}`);
  return answer;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
