import cdk from '../cdk.json' with { type: 'json' };

/**
 * The feature flags of CDK, which change its templates: the flags of `cdk.json`, also if `cdk` does not run the app.
 */
export function featureFlags(): Record<string, unknown> {
  return Object.fromEntries(Object.entries(cdk.context).filter(([name]) => name.startsWith('@')));
}
