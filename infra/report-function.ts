import { fileURLToPath } from 'node:url';
import { Duration, RemovalPolicy, Stack, TimeZone } from 'aws-cdk-lib';
import { Architecture, LoggingFormat, Runtime } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import type { BrandSettings } from '../shared/settings.ts';
import type { Catalog } from './catalog.ts';
import type { Lake } from './lake.ts';

export interface ReportFunctionProps {
  report: ReportDefinition;
  /** The brands that have the report enabled, by name. */
  brands: Readonly<Record<string, BrandSettings>>;
  settingsJson: string;
  lake: Lake;
  catalog: Catalog;
}

/** The function that syncs one report, and a schedule for each brand in the brand's time zone. */
export class ReportFunction extends Construct {
  readonly function: NodejsFunction;

  constructor(scope: Construct, id: string, props: ReportFunctionProps) {
    super(scope, id);
    const { report, lake, catalog } = props;
    const functionName = `${Stack.of(this).stackName}-${report.name}`;
    this.function = new NodejsFunction(this, 'Function', {
      functionName,
      description: `Syncs ${report.table}: ${report.description}`,
      entry: fileURLToPath(new URL('../functions/sync-report.ts', import.meta.url)),
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      // From this size on a function has a whole CPU.
      memorySize: 1769,
      timeout: Duration.minutes(15),
      // The next schedule is the retry, and a start that waited longer for a free instance is worth nothing.
      retryAttempts: 0,
      maxEventAge: Duration.minutes(15),
      loggingFormat: LoggingFormat.JSON,
      logGroup: new LogGroup(this, 'Logs', {
        logGroupName: `/aws/lambda/${functionName}`,
        retention: RetentionDays.THREE_MONTHS,
        removalPolicy: RemovalPolicy.DESTROY,
      }),
      environment: { REPORT: report.name, LAKE_URL: lake.url, DATABASE: catalog.databaseName },
      bundling: {
        format: OutputFormat.ESM,
        // Without it esbuild takes CommonJS builds, whose `require` of Node's modules fails in an ES module.
        mainFields: ['module', 'main'],
        bundleAwsSDK: true,
        // Settings go into the code, because a function's environment holds 4 kB at most.
        define: { 'process.env.BRAND_REPORTS_SETTINGS': JSON.stringify(props.settingsJson) },
      },
    });
    lake.grantReadWrite(this.function);
    catalog.grantReadWrite(this.function);
    this.grantSecrets(props.brands);
    for (const [name, brand] of Object.entries(props.brands)) this.schedule(report, name, brand);
  }

  private grantSecrets(brands: ReportFunctionProps['brands']): void {
    for (const name of new Set(Object.values(brands).map(({ secretName }) => secretName)))
      Secret.fromSecretNameV2(this, `Secret-${name}`, name).grantRead(this.function);
  }

  private schedule(report: ReportDefinition, brandName: string, brand: BrandSettings): void {
    const expression = brand.reports[report.name]?.schedule ?? report.schedule;
    new Schedule(this, `Schedule-${brandName}`, {
      description: `Syncs ${report.table} of ${brandName}`,
      schedule: ScheduleExpression.expression(expression, TimeZone.of(brand.timeZone)),
      target: new LambdaInvoke(this.function, {
        input: ScheduleTargetInput.fromObject({ brand: brandName }),
        // Of handing over the event alone: how the sync goes is the function's matter.
        retryAttempts: 2,
        maxEventAge: Duration.minutes(15),
      }),
    });
  }
}
