import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../fakes/temporary-folder.ts';

const execute = promisify(execFile);
const script = fileURLToPath(new URL('../../bench/smoke.sh', import.meta.url));

const DAY = '2026-01-15';
const OUTPUTS = {
  ...{ DatabaseName: 'brand_reports_smoke', LakeUrl: 's3://lake-1' },
  AlarmTopicArn: 'arn:aws:sns:eu-central-1:123456789012:alarms',
  AnalystsPolicyArn: 'arn:aws:iam::123456789012:policy/BrandReports-smoke-analysts',
  OperatorsPolicyArn: 'arn:aws:iam::123456789012:policy/BrandReports-smoke-operators',
};

/**
 * Stubs of `aws` and `npx` that record their calls. `fails` lists the calls that fail, `left` the buckets at the end.
 */
const AWS = `#!/usr/bin/env bash
cd "$STUBS"
all="$*"
echo "$1 $2" >> calls
if grep -qx "$1 $2" fails; then echo 'An error occurred (Broken) when calling it' >&2; exit 254; fi
while [ $# -gt 2 ]; do
  case $3 in --payload) payload=$4 ;; --function-name) name=$4 ;; --policy-arn) policy=$4 ;; /*/answer.json | /*/object) file=$3 ;; esac
  set -- "$1" "$2" "\${@:4}"
done
if [ -n "\${AWS_SESSION_TOKEN:-}" ] && ! grep -qx 'no denial' fails; then
  case "$(cat attached) $1 $2 $all" in
    *-analysts\\ athena*) ;;
    *-operators\\ lambda\\ invoke*) ;;
    *-brand-acme-eu-central-1\\ athena\\ get* | *-brand-acme-eu-central-1\\ athena*--work-group\\ BrandReports-smoke-brand-acme\\ *) ;;
    *) echo 'An error occurred (AccessDeniedException)' >&2; exit 254 ;;
  esac
fi
case "$1 $2" in
  'lambda invoke')
    case "$name $payload" in
      *'"check":true'*) echo '{"status": "ok"}' ;;
      *smoke-broken*) echo '{"status": "failed"}' ;;
      *-calendar*) echo '{"message": "problems: 1 new"}' ;;
      *) echo '{"status": "complete", "reports": [{"days": [{"dt": "${DAY}", "rows": 42}]}]}' ;;
    esac > "$file" ;;
  's3api get-object') echo '{"days": {"2026-01-14": {"committed": {}}}}' > "$file" ;;
  's3api list-buckets') cat left ;;
  'iam attach-role-policy') echo "$policy" > attached ;;
  'sts assume-role') echo '{"AccessKeyId": "a", "SecretAccessKey": "b", "SessionToken": "c"}' ;;
  'glue get-tables') echo '["orders_daily", "freshness"]' ;;
  'athena start-query-execution' | 'athena get-named-query' | 'stepfunctions start-execution' | 'sqs create-queue' | 'sqs get-queue-url') echo '"id"' ;;
  'athena list-named-queries') echo '["one"]' ;;
  'athena get-query-execution' | 'stepfunctions describe-execution') echo '"SUCCEEDED"' ;;
  'athena get-query-results') echo '"42"' ;;
  'sqs receive-message') echo '["{\\"detail-type\\":\\"Day Published\\",\\"day\\":\\"${DAY}\\"}", "{\\"Type\\" : \\"Notification\\", \\"Message\\": \\"smoke-broken\\"}"]' ;;
esac
`;
const NPX = `#!/usr/bin/env bash
all="$*"
echo "$1 $2" >> "$STUBS/calls"
for arg; do
  case $arg in settings=*) cp "\${arg#settings=}" "$STUBS/deployed" ;; */outputs.json) cp "$STUBS/outputs" "$arg" ;; esac
done
! grep -qx "$1 $2" "$STUBS/fails"
`;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
const path = (name: string) => join(folder.path, name);
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

describe('the smoke script', () => {
  it('runs every step, prints a table and the cost, and destroys everything', async () => {
    const { code, results, stdout } = await smoke({});
    expect(results.filter(([result]) => result !== 'passed')).toEqual([]);
    expect(results.length).toBeGreaterThan(20);
    expect(stdout).toMatch(/Estimated cost: 0\.[0-4]\d USD/);
    expect(stdout).toMatch(/smoke: passed\n$/);
    expect(code).toBe(0);
  });

  it('deploys nothing that belongs to another deployment or would remain', async () => {
    const own = { keepLake: true, adoptBucket: 'lake', adoptDatabase: 'reports', alarmEmail: 'a@b.example' };
    const { settings } = await smoke({
      fails: ['cdk deploy'],
      settings: {
        events: { bus: 'team' },
        environments: { prod: {} },
        deployment: { ...own, tablePermissions: 'lake_formation' },
      },
    });
    const acme = { startDate: '2025-12-31', lateMinutes: 15, secretName: 'brand-reports/acme' };
    expect(settings).toEqual({
      brands: {
        acme,
        'smoke-broken': { ...acme, startDate: DAY, baseUrl: 'https://brand-reports-smoke.invalid' },
      },
      deployment: {
        ...{ tablePermissions: 'lake_formation', keepLake: false, schedules: false },
        brandAccess: { acme: [] },
      },
      environments: { smoke: {} },
    });
  });

  it('continues after each step that fails, destroys the stack, and names the leftovers', async () => {
    const fails = ['scheduler create-schedule', 'cdk diff', 'iam delete-role', 'cdk destroy'];
    const { code, results, stdout } = await smoke({ fails, left: '["lake-1"]' });
    expect(results.filter(([result]) => result !== 'passed')).toEqual([
      ['FAILED', 'a schedule fires once'],
      ['FAILED', 'nothing changed: no difference'],
      ['FAILED', 'remove everything outside the stack'],
      ['FAILED', 'destroy'],
      ['FAILED', 'nothing is left'],
    ]);
    expect(stdout).toMatch(/FAILED +a schedule fires once +\d+ s, .*\(Broken\)/);
    expect(stdout).toMatch(/FAILED +nothing is left +\d+ s, lake-1\n/);
    expect(stdout).toMatch(/smoke: FAILED: 5 of \d\d steps did not pass\n$/);
    expect(code).toBe(1);
  });

  it('fails if a policy allows too much', async () => {
    const { code, results, stdout } = await smoke({ fails: ['no denial'] });
    expect(results.filter(([result]) => result !== 'passed')).toEqual([
      ['FAILED', 'the policy of analysts'],
      ['FAILED', 'the policy of operators'],
      ['FAILED', 'the policy of acme'],
    ]);
    expect(stdout).toContain('a call is not denied: it was allowed');
    expect(code).toBe(1);
  });

  it('runs no step if nothing is deployed, and destroys the resources of a failed deployment', async () => {
    const { code, results, calls } = await smoke({ fails: ['cdk deploy'] });
    const passed = results.filter(([result]) => result === 'passed').map(([, name]) => name);
    expect(passed).toEqual(['remove everything outside the stack', 'destroy', 'nothing is left']);
    expect({ code, isDestroyed: calls.includes('cdk destroy') }).toEqual({ code: 1, isDestroyed: true });
  });

  it.each([
    ['brand', ['nobody'], /brand is "nobody"; allowed: acme, globex/],
    ['report', ['acme', DAY, 'orders'], /report is "orders"; allowed: clicks_list, /],
  ])('deploys nothing for an unknown %s', async (_name, args, message) => {
    const { code, stderr, calls } = await smoke({ args });
    expect({ code, calls }).toEqual({ code: 2, calls: [''] });
    expect(stderr).toMatch(message);
  });
});

interface Tried {
  fails?: readonly string[];
  left?: string;
  settings?: object;
  args?: readonly string[];
}

async function smoke({ fails = [], left = 'null', settings = {}, args = ['acme', DAY] }: Tried) {
  const brand = { startDate: '2026-01-10', secretName: 'brand-reports/acme' };
  const file = { context: { brandReports: { brands: { acme: brand, globex: brand }, ...settings } } };
  const outputs = JSON.stringify({ 'BrandReports-smoke': OUTPUTS });
  const files = {
    'settings.json': JSON.stringify(file),
    fails: fails.join('\n'),
    left,
    outputs,
    calls: '',
    deployed: '{}',
    aws: AWS,
    npx: NPX,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(path(name), text, { mode: 0o755 });
  const env = {
    ...{ ...process.env, STUBS: folder.path, SMOKE_POLL_MS: '1' },
    PATH: `${folder.path}${delimiter}${process.env.PATH}`,
  };
  const run = await execute(script, [path('settings.json'), ...args], { env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  );
  const [, table = ''] = run.stdout.split('\n\n');
  const results = [...table.matchAll(/^(passed|FAILED|not run) +(.+?) {2,}/gm)].map(([, result, name]) => [
    result,
    name,
  ]);
  const deployed: unknown = JSON.parse(readFileSync(path('deployed'), 'utf8'));
  return {
    ...run,
    results,
    calls: readFileSync(path('calls'), 'utf8').trim().split('\n'),
    settings: deployed,
  };
}
