import type { Construct } from 'constructs';
import { type BrandReportsError, configError } from '../shared/errors.ts';
import { SECRETS_PREFIX } from '../shared/adapters/credentials.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { allow, arnInStack, grantKey } from './grants.ts';
import { PipelineFunction, type PipelineParts } from './pipeline-function.ts';

export class SyncFunction extends PipelineFunction {
  constructor(scope: Construct, id: string, props: PipelineParts) {
    const { settings, lake, catalog, bus } = props;
    const { reservedConcurrency, schedule } = settings.deployment;
    super(scope, id, {
      ...props,
      name: 'sync',
      description: 'Reads the due days of all brands; test it with {}',
      schedule,
      reservedConcurrency,
    });
    lake.grantSync(this);
    catalog.grantSync(this);
    bus.grantSend(this);
    this.grantSecrets(settings);
  }

  /**
   * Lets the function read the secrets of all brands by the prefix of their names, so that a new brand changes no
   * policy. I9: people create the secrets by hand.
   */
  private grantSecrets({ brands, deployment }: Settings): void {
    for (const [brand, { secretName = SECRETS_PREFIX }] of Object.entries(brands))
      if (!secretName.startsWith(SECRETS_PREFIX)) throw outsideOfPrefix(brand);
    const secrets = arnInStack(this, 'secretsmanager', `secret:${SECRETS_PREFIX}*`);
    allow(this, ['secretsmanager:GetSecretValue'], [secrets]);
    grantKey(this, deployment.secretsKeyArn, 'secretsmanager', 'read');
  }
}

/** I9: the error does not contain the name, because somebody may have entered a credential instead. */
function outsideOfPrefix(brand: string): BrandReportsError {
  return configError(
    'secret_outside_prefix',
    `brands.${brand}.secretName does not begin with "${SECRETS_PREFIX}", and the functions may read only secrets with this prefix. Leave secretName out and store the secret as ${SECRETS_PREFIX}${brand}, or under another name with this prefix.`,
  );
}
