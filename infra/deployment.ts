import { RemovalPolicy } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';

/** How the stack is deployed: the settings of a deployment, and the props that have the types of CDK. */
export interface Deployment extends DeploymentSettings, OwnProps {
  /** False: destroying the stack destroys the lake and everything in it. */
  keepLake: boolean;
  logRetention: RetentionDays;
  memoryMb: number;
}

/** Described in brand-reports.ts. */
interface OwnProps {
  encryptionKey?: IKey | undefined;
  secretsKey?: IKey | undefined;
  reservedConcurrency?: number | undefined;
}

interface Props extends OwnProps {
  bucket?: IBucket;
  removalPolicy?: RemovalPolicy;
  logRetention?: RetentionDays;
  memoryMb?: number;
}

/** With the defaults of the props. An existing bucket is always kept. */
export function deploymentOf(settings: DeploymentSettings, props: Props = {}): Deployment {
  const { encryptionKey, secretsKey, reservedConcurrency } = props;
  const { logRetention = RetentionDays.THREE_MONTHS, memoryMb = 1024 } = props;
  const keepLake = props.bucket !== undefined || props.removalPolicy !== RemovalPolicy.DESTROY;
  return {
    ...settings,
    ...{ keepLake, logRetention, memoryMb },
    ...{ encryptionKey, secretsKey, reservedConcurrency },
  };
}
