import { describe, expect, it } from '@jest/globals';
import { reports } from '../../shared/reports/index.ts';
import { rateMs } from '../../shared/settings/deployment.ts';
import { parseSettings } from '../../shared/settings/settings.ts';

const BRANDS = {
  acme: {
    baseUrl: 'https://service.example/api/brand',
    service: 'ACME',
    timeZone: 'UTC',
    startDate: '2026-01-01',
  },
};

const parsed = (deployment: object) => parseSettings({ brands: BRANDS, deployment }, reports).deployment;

describe('the settings of a deployment', () => {
  it.each<[string, object, string]>([
    ["what CDK's own means set", { region: 'eu-central-1' }, 'region'],
    ['what a prop of the construct sets', { keepLake: false }, 'keepLake is unknown'],
    [
      'a role of IAM Identity Center',
      { analystRoles: ['Analysts', 'AWSReservedSSO_Data_0a1b2c3d4e5f6071'] },
      'analystRoles.1 is a text of 36 characters; allowed: no role of IAM Identity Center: name the policy in its permission set',
    ],
    ['the path of a role', { analystRoles: ['team/Analysts'] }, 'allowed: a list of names of IAM roles'],
    ['a role twice', { analystRoles: ['A', 'A'] }, 'allowed: each role once'],
    [
      'too many roles',
      { analystRoles: Array.from({ length: 11 }, (_, n) => `Role${n}`) },
      'allowed: 10 roles at most',
    ],
  ])('refuse %s', (_name, deployment, message) => {
    expect(() => parsed(deployment)).toThrow(message);
  });
});

it.each([
  ['rate(15 minutes)', 15 * 60_000],
  ['rate(1 hour)', 3_600_000],
  ['rate(2 days)', 2 * 86_400_000],
])('%s has an interval', (schedule, ms) => {
  expect(rateMs(schedule)).toBe(ms);
});
