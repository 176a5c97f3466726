/**
 * Runs the functions of a deployment without an account. The app is synthesised as `cdk deploy` does it. Each
 * function's bundle runs in its own process against doubles of AWS, with the rights that its role in the template has.
 * Every call is recorded.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as z from 'zod/mini';
import { startSampleService } from '../../sample/server.ts';
import { sampleCredentials, sampleSettings } from '../../sample/settings.ts';
import { type Access, PLACE } from '../fakes/access.ts';
import { COMPILE_CACHE } from '../fakes/compile-cache.ts';
import {
  type Allows,
  type Permission,
  permissionsOfRole,
  policyOfBuckets,
  policyOfRole,
} from '../iam/policy.ts';
import { startAwsDoubles } from './aws-doubles.ts';
import { parseTemplate, resolve, resourcesOf, type Template, type Values } from '../iam/template.ts';

const MINUTES_15 = 900_000;
const execute = promisify(execFile);

export interface DeployedFunction {
  /** Without the stack's name. */
  name: string;
  bundle: string;
  role: string;
  /** The resources and variables in the role's policies. */
  permissions: readonly Permission[];
  environment: Record<string, string>;
}

/** A call of AWS, with the role that made it. */
export interface RecordedCall extends Permission {
  role: string;
}

const functionSchema = z.object({
  FunctionName: z.string(),
  Role: z.string(),
  Code: z.object({ S3Key: z.string() }),
  Environment: z.object({ Variables: z.record(z.string(), z.string()) }),
});

export type Deployment = Awaited<ReturnType<typeof deployToDoubles>>;

/**
 * @param now the time of the service. It should advance if several runs read one day: an earlier reading replaces no
 * later one
 */
export async function deployToDoubles(now: () => Date) {
  const folder = mkdtempSync(join(tmpdir(), 'brand-reports-bundle-'));
  /** The rights of every function's role, by the role's name; a function signs with this name as its access key. */
  const policies = new Map<string, Allows>();
  const calls: RecordedCall[] = [];
  const refused: RecordedCall[] = [];
  /** The rights that the policy of the bucket leaves to anybody. */
  let bucketAllows: Allows = () => false;
  const may: Access = (role, action, resource, context) => {
    const request = { 'aws:SecureTransport': 'true', 's3:TlsVersion': '1.3', ...context };
    const ofRole = policies.get(role)?.(action, resource, request) ?? false;
    return ofRole && (!action.startsWith('s3:') || bucketAllows(action, resource, request));
  };
  const access: Access = (role, action, resource, context) => {
    const allowed = may(role, action, resource, context);
    (allowed ? calls : refused).push({ role, action, resource });
    return allowed;
  };
  const sample = await startSampleService({ now });
  const doubles = await startAwsDoubles(access);
  for (const [brand, credentials] of Object.entries(sampleCredentials(sample)))
    doubles.secrets.secrets.set(`brand-reports/${brand}`, JSON.stringify(credentials));
  const functions = await synthesise();
  let printed = '';

  /** Builds the template, the bundles and the policies as a deployment does. */
  async function synthesise(): Promise<DeployedFunction[]> {
    const settings = join(folder, 'settings.json');
    writeFileSync(settings, JSON.stringify({ ...sampleSettings(sample), catalogs: ['hive', 'iceberg'] }));
    const out = join(folder, 'cdk.out');
    const env = { ...process.env, CDK_OUTDIR: out, CDK_CONTEXT_JSON: JSON.stringify({ settings }) };
    await execute(process.execPath, ['infra/app.ts'], { env });
    const template = parseTemplate(readFileSync(join(out, 'BrandReports.template.json'), 'utf8'));
    const values = valuesOf(template);
    bucketAllows = policyOfBuckets(template, values);
    return resourcesOf(template, 'AWS::Lambda::Function').flatMap(([, properties]) => {
      const { success, data } = z.safeParse(functionSchema, resolve(properties, values));
      if (!success) return [];
      const { FunctionName, Role, Code, Environment } = data;
      policies.set(Role, policyOfRole(template, Role, values));
      const asset = `asset.${Code.S3Key.replace('.zip', '')}`;
      return [
        {
          name: FunctionName.replace('BrandReports-', ''),
          bundle: join(out, asset, 'main.js'),
          role: Role,
          permissions: permissionsOfRole(template, Role, values),
          environment: Environment.Variables,
        },
      ];
    });
  }

  function functionNamed(name: string): DeployedFunction {
    const found = functions.find((each) => each.name === name);
    if (found === undefined) throw new Error(`the template has no function ${name}`);
    return found;
  }

  /**
   * Starts the function's bundle in its own process, with the local servers for AWS.
   */
  async function invoke(
    name: string,
    event: unknown,
    { remainingMs = MINUTES_15 } = {},
  ): Promise<Record<string, unknown>> {
    const { bundle, environment, role } = functionNamed(name);
    const runtime = fileURLToPath(new URL('./lambda-runtime.ts', import.meta.url));
    const { stdout, stderr } = await execute(
      process.execPath,
      [runtime, bundle, JSON.stringify(event), String(remainingMs)],
      {
        maxBuffer: 2 ** 28,
        env: {
          ...COMPILE_CACHE,
          PATH: process.env.PATH,
          ...environment,
          ...doubles.endpoints(role),
          LAMBDA_TASK_ROOT: dirname(bundle),
        },
      },
    );
    printed += stdout + stderr;
    const last = stdout.trimEnd().split('\n').at(-1) ?? '';
    return z.parse(z.record(z.string(), z.unknown()), JSON.parse(last));
  }

  return {
    ...doubles,
    sample,
    functions,
    policies,
    calls,
    /** Calls that the role did not allow. */
    refused,
    invoke,
    /** The output of the functions so far. */
    printed: () => printed,
    async close() {
      await Promise.all([sample.close(), doubles.closeDoubles()]);
      rmSync(folder, { recursive: true });
    },
  };
}

/** The attributes of resources that a deployment to the doubles of AWS would have. */
function valuesOf(template: Template): Values {
  const ids = (type: string) => resourcesOf(template, type).map(([id]) => id);
  const [bucket = '', database = '', icebergDatabase = '', topic = ''] = [
    ...ids('AWS::S3::Bucket'),
    ...ids('AWS::Glue::Database'),
    ...ids('AWS::SNS::Topic'),
  ];
  return {
    'AWS::Partition': 'aws',
    'AWS::Region': 'us-east-1',
    'AWS::AccountId': '123456789012',
    'AWS::StackName': 'BrandReports',
    [bucket]: 'lake',
    [`${bucket}.Arn`]: 'arn:aws:s3:::lake',
    [database]: 'brand_reports',
    [icebergDatabase]: 'brand_reports_iceberg',
    [topic]: `arn:aws:sns:${PLACE}:alarms`,
    ...Object.fromEntries(ids('AWS::IAM::Role').map((id) => [`${id}.Arn`, id])),
  };
}
