// A small version of Lambda's runtime for Node.js: `node bootstrap.ts MODULE.HANDLER`. It gets one event after the
// other from the Runtime API, and ends when that API is gone.
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { logAsLambda } from '../functions/log-as-lambda.ts';

logAsLambda();
const {
  AWS_LAMBDA_RUNTIME_API: host,
  LAMBDA_TASK_ROOT: task,
  AWS_LAMBDA_FUNCTION_NAME: functionName,
} = process.env;
const [module, name = ''] = (process.argv[2] ?? '').split('.');

// Bundles are CommonJS.
const { default: exported } = await import(`${task}/${module}.js`).catch(async (error: unknown) => {
  await call('POST', 'runtime/init/error', failure(error));
  process.exit(1);
});
const handler = exported[name];

for (;;) {
  const { headers, body } = await call('GET', 'runtime/invocation/next');
  const awsRequestId = String(headers['lambda-runtime-aws-request-id']);
  const deadlineMs = Number(headers['lambda-runtime-deadline-ms']);
  const context = { awsRequestId, functionName, getRemainingTimeInMillis: () => deadlineMs - Date.now() };
  try {
    const answer: unknown = await handler(JSON.parse(body), context);
    await call('POST', `runtime/invocation/${awsRequestId}/response`, answer ?? null);
  } catch (error) {
    await call('POST', `runtime/invocation/${awsRequestId}/error`, failure(error));
  }
}

function failure(error: unknown) {
  const { name, message, stack = '' } = error instanceof Error ? error : new Error(String(error));
  return { errorType: name, errorMessage: message, trace: stack.split('\n') };
}

/** With `node:http`, which waits for the next event without a timeout. */
async function call(method: string, path: string, content?: unknown) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request(`http://${host}/2018-06-01/${path}`, { method }, resolve)
    .on('error', reject)
    .end(content === undefined ? undefined : JSON.stringify(content));
  const response = await promise;
  return { headers: response.headers, body: await text(response) };
}
