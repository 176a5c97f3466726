import { OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';

/**
 * How esbuild makes a function's bundle. CommonJS, because an ES module that imports `node:http` or `node:fs` makes Node
 * load all that these can do, `fetch` included: a fifth of the time of a cold start. Names stay for the stack traces.
 */
export const BUNDLING = {
  format: OutputFormat.CJS,
  // Otherwise esbuild takes the SDK's CommonJS builds, which are twice as large.
  mainFields: ['module', 'main'],
  minify: true,
  keepNames: true,
};
