import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Deployment, deployToDoubles } from '../functions/deployed.ts';
import { UNEXERCISED, type Usage, exercise, usageOf } from './exercise.ts';

/** The life of a deployment starts about a hundred processes. */
const LIFE_MS = 900_000;

let deployment: Deployment;
let usage: Usage[];

beforeAll(async () => {
  deployment = await deployToDoubles(() => new Date());
  await exercise(deployment);
  usage = usageOf(deployment);
}, LIFE_MS);
afterAll(() => deployment.close());

describe('the role of a function', () => {
  it('allows every call that the function makes', () => {
    expect(deployment.refused).toEqual([]);
  });

  it('is used only for the bucket of its own account: every call names the account', () => {
    expect([...deployment.s3.namedOwners]).toEqual(['123456789012']);
  });

  it('has no unused permission without a reason', () => {
    const unused = usage.filter(({ calls, reason }) => calls === 0 && reason === undefined);
    expect(unused.map(({ name, action, resource }) => `${name}: ${action} ${resource}`)).toEqual([]);
  });

  it.each(UNEXERCISED)('needs $action although no function uses it: $reason', ({ reason }) => {
    const named = usage.filter((one) => one.reason === reason);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter(({ calls }) => calls > 0)).toEqual([]);
  });
});
