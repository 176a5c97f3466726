import { CfnOutput, Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';

/** The bucket that holds snapshots, raw records, ledgers and schemas; it outlives the stack. */
export class Lake extends Construct {
  readonly bucket: Bucket;
  readonly url: string;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.bucket = new Bucket(this, 'Bucket', {
      encryption: BucketEncryption.S3_MANAGED,
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      removalPolicy: RemovalPolicy.RETAIN,
      lifecycleRules: [
        { id: 'raw-records', prefix: 'raw/', expiration: Duration.days(90) },
        { id: 'unfinished-uploads', abortIncompleteMultipartUploadAfter: Duration.days(1) },
      ],
    });
    this.url = `s3://${this.bucket.bucketName}`;
    new CfnOutput(this, 'Url', { value: this.url, description: 'The lake' });
  }

  grantReadWrite(grantee: IGrantable): void {
    // Listing is allowed without a condition on the prefix: where it is not, S3 answers a missing key with 403.
    Grant.addToPrincipal({ grantee, actions: ['s3:ListBucket'], resourceArns: [this.bucket.bucketArn] });
    Grant.addToPrincipal({
      grantee,
      actions: ['s3:GetObject', 's3:PutObject', 's3:DeleteObject', 's3:AbortMultipartUpload'],
      resourceArns: [this.bucket.arnForObjects('*')],
    });
  }
}
