import { RemovalPolicy } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';

/** Props of the construct, described in brand-reports.ts. */
interface Props {
  encryptionKey?: IKey;
  secretsKey?: IKey;
  reservedConcurrency?: number;
  logRetention?: RetentionDays;
  memoryMb?: number;
  removalPolicy?: RemovalPolicy;
}

/** The settings of the deployment, and the props that several parts of the stack need. */
export type Deployment = ReturnType<typeof deploymentOf>;

export function deploymentOf(settings: DeploymentSettings, props: Props = {}) {
  const { encryptionKey, secretsKey, reservedConcurrency, removalPolicy } = props;
  const { logRetention = RetentionDays.THREE_MONTHS, memoryMb = 1024 } = props;
  /** False: destroying the stack destroys the lake and everything in it. */
  const keepLake = removalPolicy !== RemovalPolicy.DESTROY;
  const own = { encryptionKey, secretsKey, reservedConcurrency, logRetention, memoryMb, keepLake };
  return { ...settings, ...own };
}
