import { describe, expect, it } from '@jest/globals';
import { chosenEnvironment } from '../../shared/settings/environments.ts';

const SETTINGS = {
  requestsPerSecond: 5,
  brands: { acme: { timeZone: 'UTC', reports: { order_list: { enabled: true } } } },
  environments: {
    staging: {
      deployment: { schedules: false },
      brands: { acme: { reports: { order_list: { refresh: [] } } } },
    },
  },
};

describe('settings of an environment', () => {
  it('are the common settings if no environment is chosen', () => {
    const { environments: _all, ...common } = SETTINGS;
    expect(chosenEnvironment(SETTINGS, 'file')).toEqual(common);
  });

  it('override the common settings, key by key', () => {
    expect(chosenEnvironment(SETTINGS, 'file', 'staging')).toEqual({
      requestsPerSecond: 5,
      deployment: { schedules: false },
      brands: { acme: { timeZone: 'UTC', reports: { order_list: { enabled: true, refresh: [] } } } },
    });
  });

  it('remove what they set to null', () => {
    const settings = {
      brands: { acme: { a: 1 }, globex: {} },
      environments: { staging: { brands: { globex: null } } },
    };
    expect(chosenEnvironment(settings, 'file', 'staging')).toEqual({ brands: { acme: { a: 1 } } });
  });

  it.each<[string, unknown, string | undefined, string]>([
    ['an unknown environment', SETTINGS, 'stagin', 'allowed: staging; did you mean staging?'],
    ['a name that every object has', SETTINGS, 'constructor', 'no environment "constructor"'],
    [
      'an environment if there are no environments',
      { brands: {} },
      'staging',
      'allowed: none, until "environments"',
    ],
    ['environments that are a list', { environments: [] }, undefined, 'an object that holds settings by'],
    [
      'a name that is too long for functions',
      { environments: { 'a-name-of-21-letters-': {} } },
      undefined,
      '20 at most',
    ],
    [
      'an environment that is not an object',
      { environments: { staging: true } },
      undefined,
      'holds settings by',
    ],
  ])('are refused: %s', (_name, settings, chosen, message) => {
    expect(() => chosenEnvironment(settings, 'file', chosen)).toThrow(message);
  });
});
