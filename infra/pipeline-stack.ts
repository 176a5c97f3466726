import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { ReportRegistry } from '../shared/reports/definition.ts';
import type { Settings } from '../shared/settings.ts';
import { Catalog } from './catalog.ts';
import { Lake } from './lake.ts';
import { ReportFunction } from './report-function.ts';

export interface PipelineStackProps extends StackProps {
  reports: ReportRegistry;
  settings: Settings;
  /** What `settings` was parsed from, as JSON: it goes into the functions' bundle. */
  settingsJson: string;
}

/** The whole deployment: a lake, its catalog, and a scheduled function for every report that a brand has enabled. */
export class PipelineStack extends Stack {
  constructor(scope: Construct, id: string, props: PipelineStackProps) {
    super(scope, id, props);
    const { settings, settingsJson } = props;
    const lake = new Lake(this, 'Lake');
    const catalog = new Catalog(this, 'Catalog');
    for (const report of Object.values(props.reports)) {
      const brands = Object.entries(settings.brands).filter(
        ([, brand]) => brand.reports[report.name]?.enabled,
      );
      if (brands.length === 0) continue;
      new ReportFunction(this, report.name, {
        report,
        brands: Object.fromEntries(brands),
        settingsJson,
        lake,
        catalog,
      });
    }
  }
}
