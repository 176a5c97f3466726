/** A price of AWS in us-east-1, without taxes. */
export interface Price {
  usd: number;
  /** … for this many units. */
  per: number;
  unit: string;
  /** The units that are free every month, for accounts of any age. */
  freePerMonth?: number;
  /** The page of AWS with the price. */
  page: string;
  /** The source of the figure and its date. AWS's own pages render prices by script. */
  readAt: string;
  asOf: string;
}

const million = 1_000_000;

const lambda = {
  page: 'https://aws.amazon.com/lambda/pricing/',
  readAt: 'https://wring.co/blog/aws-lambda-pricing-guide',
  asOf: '2026-03',
};
const s3 = {
  page: 'https://aws.amazon.com/s3/pricing/',
  readAt: 'https://devnotes.tech/understanding-aws-s3-pricing-a-complete-cost-breakdown-with-examples',
  asOf: 'undated',
};
const glue = {
  page: 'https://aws.amazon.com/glue/pricing/',
  readAt: 'https://athena.guide/articles/athena-basics-pricing-model/',
  asOf: '2020-10',
  freePerMonth: million,
};
const secretsManager = {
  page: 'https://aws.amazon.com/secrets-manager/pricing/',
  readAt: 'https://hivebook.wiki/wiki/aws-secrets-manager-rotated-secrets-dynamic-db-credentials-kms',
  asOf: 'undated',
};
const cloudWatch = {
  page: 'https://aws.amazon.com/cloudwatch/pricing/',
  readAt: 'https://www.factualminds.com/blog/amazon-cloudwatch-pricing-metrics-logs-alarms-dashboards/',
  asOf: '2026-06',
};

export const prices = {
  lambdaStart: { ...lambda, usd: 0.2, per: million, unit: 'starts', freePerMonth: million },
  /** arm64; AWS bills init time too (since 2025-08). */
  lambdaGbSecond: { ...lambda, usd: 13.3334, per: million, unit: 'GB-seconds', freePerMonth: 400_000 },
  schedule: {
    usd: 1,
    per: million,
    unit: 'starts',
    freePerMonth: 14 * million,
    page: 'https://aws.amazon.com/eventbridge/pricing/',
    readAt: 'https://cloudburn.io/blog/amazon-eventbridge-pricing',
    asOf: '2026-03',
  },
  /** Events of EventBridge. Receivers pay for rules, targets and API destinations. */
  event: {
    usd: 1,
    per: million,
    unit: 'events',
    page: 'https://aws.amazon.com/eventbridge/pricing/',
    readAt: 'https://cloudburn.io/blog/amazon-eventbridge-pricing',
    asOf: '2026-03',
  },
  s3Write: { ...s3, usd: 5, per: million, unit: 'requests' },
  s3Read: { ...s3, usd: 0.4, per: million, unit: 'requests' },
  s3Gb: { ...s3, usd: 0.023, per: 1, unit: 'GB' },
  glueRequest: { ...glue, usd: 1, per: million, unit: 'requests' },
  glueObject: { ...glue, usd: 10, per: million, unit: 'objects' },
  secret: { ...secretsManager, usd: 0.4, per: 1, unit: 'secret' },
  secretCall: { ...secretsManager, usd: 5, per: million, unit: 'requests' },
  alarm: {
    ...cloudWatch,
    usd: 0.1,
    per: 1,
    unit: 'metric',
    freePerMonth: 10,
    readAt: 'https://amazonwebshark.com/unexpected-cloudwatch-in-the-billing-area',
    asOf: '2022-04',
  },
  athenaTb: {
    usd: 5,
    per: 1,
    unit: 'TB',
    page: 'https://aws.amazon.com/athena/pricing/',
    readAt: 'https://athena.guide/articles/athena-basics-pricing-model/',
    asOf: '2020-10',
  },
  logGb: { ...cloudWatch, usd: 0.5, per: 1, unit: 'GB', freePerMonth: 5 },
} satisfies Record<string, Price>;
