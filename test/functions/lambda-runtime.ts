// Invokes the handler of a bundle as Lambda's runtime does: `node lambda-runtime.ts BUNDLE EVENT REMAINING_MS`. The
// last line on stdout is `{"answer": …}` or `{"errorType", "errorMessage"}`; the lines before it are the log, as JSON.
import { randomUUID } from 'node:crypto';

const [, , bundle = '', event = '', remainingMs = ''] = process.argv;

for (const level of ['debug', 'info', 'log', 'warn', 'error'] as const)
  console[level] = (message: unknown) => {
    const line = { timestamp: new Date().toISOString(), level: level.toUpperCase(), message };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  };
const { handler } = await import(bundle);
const started = Date.now();
const context = {
  functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
  awsRequestId: randomUUID(),
  getRemainingTimeInMillis: () => Number(remainingMs) - (Date.now() - started),
};
try {
  const answer: unknown = await handler(JSON.parse(event), context);
  process.stdout.write(`${JSON.stringify({ answer })}\n`);
} catch (error) {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  process.stdout.write(`${JSON.stringify({ errorType: name, errorMessage: message })}\n`);
}
// Lambda does not wait for work that a handler has left in progress.
process.exit();
