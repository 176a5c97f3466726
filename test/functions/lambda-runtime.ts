// Invokes the handler of a bundle as Lambda's runtime does: `node lambda-runtime.ts BUNDLE EVENT REMAINING_MS`.
// The last line on stdout is `{"answer": …}` or `{"errorType", "errorMessage"}`; what comes before is the log.
const [, , bundle = '', event = '', remainingMs = ''] = process.argv;

const { handler } = await import(bundle);
const started = Date.now();
const context = { getRemainingTimeInMillis: () => Number(remainingMs) - (Date.now() - started) };
try {
  const answer: unknown = await handler(JSON.parse(event), context);
  console.log(JSON.stringify({ answer }));
} catch (error) {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  console.log(JSON.stringify({ errorType: name, errorMessage: message }));
}
// Lambda does not wait for what a handler leaves under way.
process.exit();
