/** Calls the AWS CLI and CDK, and waits for effects that AWS delays. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import * as z from 'zod/mini';

const execute = promisify(execFile);
/** Tests against stubs need not wait. */
const POLL_MS = Number(process.env.SMOKE_POLL_MS ?? 2000);

/** The usage of all calls so far. */
export const used = { queries: 0, functionSeconds: 0 };

const failureSchema = z.object({ stderr: z.string() });

type Aws = (words: TemplateStringsArray, ...values: readonly string[]) => Promise<unknown>;

/** The AWS CLI with other credentials. A template is the list of arguments, and each value stays one argument. */
export function awsAs(identity: Readonly<Record<string, string>>): Aws {
  return async (words, ...values) => {
    const args = [''];
    for (const [index, text] of words.entries()) {
      const [glued, ...others] = text.split(/\s+/);
      args.push(`${args.pop()}${glued}`, ...others);
      args.push(`${args.pop()}${values[index] ?? ''}`);
    }
    const given = args.filter((arg) => arg !== '');
    const options = { env: { ...process.env, ...identity }, maxBuffer: 64 * 1024 * 1024 };
    const run = execute('aws', [...given, '--output', 'json'], options);
    const { stdout } = await run.catch((error: unknown) => {
      const { data } = z.safeParse(failureSchema, error);
      throw new Error(`aws ${given.slice(0, 2).join(' ')}: ${data?.stderr.trim() ?? String(error)}`);
    });
    return stdout.trim() === '' ? null : JSON.parse(stdout);
  };
}

/** Returns the JSON that the AWS CLI prints, or null if it prints nothing. @throws Error with its standard error */
export const aws = awsAs({});

export const text = (answer: unknown): string => z.parse(z.string(), answer);
export const texts = (answer: unknown): string[] => z.parse(z.nullable(z.array(z.string())), answer) ?? [];

/** Runs CDK, which prints its progress. @throws Error unless it succeeds */
export async function cdk(...args: string[]): Promise<void> {
  const [code] = await once(spawn('npx', ['cdk', ...args], { stdio: 'inherit' }), 'close');
  if (code !== 0) throw new Error(`cdk ${args[0]} failed: its output is above`);
}

/** Repeats the probe until it returns something. @throws Error with the probe's last error, if that takes too long */
export async function waitFor<T>(
  what: string,
  minutes: number,
  probe: () => Promise<T | undefined>,
): Promise<T> {
  let why = '';
  for (let left = minutes * 30; left > 0; left -= 1) {
    const found = await probe().catch((error: unknown) => {
      why = `: ${messageOf(error)}`;
      return undefined;
    });
    if (found !== undefined) return found;
    await sleep(POLL_MS);
  }
  throw new Error(`${what} did not happen within ${minutes} minutes${why}`);
}

/** @throws Error unless AWS denies the call */
export async function expectDenied(call: Promise<unknown>): Promise<void> {
  const answer = await call.then(() => 'it was allowed', messageOf);
  if (!/AccessDenied|not authorized|Forbidden/i.test(answer))
    throw new Error(`a call is not denied: ${answer}`);
}

/** Runs a query. @returns the first cell of its answer, null if it has no row */
export async function athena(
  sql: string,
  {
    workGroup,
    database,
    results,
    as = aws,
  }: { workGroup: string; database: string; results: string; as?: Aws },
): Promise<string | null> {
  used.queries += 1;
  const where = `Database=${database}`;
  // The workgroup of analysts overrides it.
  const place = `OutputLocation=${results}`;
  const id = text(
    await as`athena start-query-execution --work-group ${workGroup} --query-execution-context ${where} --result-configuration ${place} --query-string ${sql} --query QueryExecutionId`,
  );
  const statusOf = (part: string) =>
    as`athena get-query-execution --query-execution-id ${id} --query QueryExecution.Status.${part}`;
  const state = await waitFor('the end of a query', 5, async () => {
    const now = text(await statusOf('State'));
    return ['QUEUED', 'RUNNING'].includes(now) ? undefined : now;
  });
  if (state !== 'SUCCEEDED')
    throw new Error(`${state}: ${JSON.stringify(await statusOf('StateChangeReason'))} (${sql})`);
  const cell = 'ResultSet.Rows[1].Data[0].VarCharValue';
  const answer = await as`athena get-query-results --query-execution-id ${id} --query ${cell}`;
  return z.parse(z.nullable(z.string()), answer);
}

/** Runs a function. @returns its answer @throws Error if it fails */
export async function invoke(name: string, event: object, file: string, as: Aws = aws): Promise<unknown> {
  const began = Date.now();
  const failure =
    await as`lambda invoke --function-name ${name} --cli-binary-format raw-in-base64-out --cli-read-timeout 910 --payload ${JSON.stringify(event)} ${file} --query FunctionError`;
  used.functionSeconds += (Date.now() - began) / 1000;
  const answer: unknown = JSON.parse(await readFile(file, 'utf8'));
  if (failure !== null) throw new Error(`${name} failed: ${JSON.stringify(answer)}`);
  return answer;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
