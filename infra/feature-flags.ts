import cdk from '../cdk.json' with { type: 'json' };

/** The flags of `cdk.json` change CDK's templates; they apply also if `cdk` does not run the app. */
export function featureFlags(): Record<string, unknown> {
  return Object.fromEntries(Object.entries(cdk.context).filter(([name]) => name.startsWith('@')));
}
