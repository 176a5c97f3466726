import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod/mini';
import type { JsonObject } from '../../shared/base/json.ts';
import type { startLocalAws } from './local-aws.ts';

/** The stack that the settings without an environment deploy. */
export const STACK = 'BrandReports';

const outputsSchema = z.object({
  [STACK]: z.object({ LakeUrl: z.string(), DatabaseName: z.string() }),
});

/** What an app gives to the construct (app.ts). */
export interface Existing {
  bucket: string;
  database?: string;
}

/**
 * Deploys with these settings, and leaves the assembly in `cdk.out` of the folder.
 * @throws Error with the end of CDK's output
 */
export async function deployTo(
  aws: Awaited<ReturnType<typeof startLocalAws>>,
  folder: string,
  input: JsonObject,
  existing?: Existing,
) {
  const file = join(folder, 'settings.json');
  const outputs = join(folder, 'outputs.json');
  await writeFile(file, JSON.stringify(input));
  const where = [
    ...['--context', `settings=${file}`, '--output', join(folder, 'cdk.out')],
    ...['--outputs-file', outputs],
    ...(existing ? ['--app', 'node test/aws/app.ts'] : []),
    ...Object.entries(existing ?? {}).flatMap(([name, value]) => ['--context', `${name}=${value}`]),
  ];
  // moto returns no outputs of change sets, and cannot keep parameters of the last deployment.
  const how = ['--require-approval', 'never', '--method', 'direct', '--no-previous-parameters'];
  await aws.cdk('deploy', ...how, ...where);
  const { [STACK]: written } = z.parse(outputsSchema, JSON.parse(await readFile(outputs, 'utf8')));
  return {
    bucket: written.LakeUrl.replace('s3://', ''),
    database: written.DatabaseName,
  };
}
