/** Texts of the service are in comments and in JSON only, so that no field name can add a setting. */
import { dayOf } from '../base/days.ts';
import { stringifyJson } from '../base/json.ts';
import type { BrandAnswers } from './answers.ts';
import type { BrandCheck } from './check.ts';
import type { ProposedSetting } from './finding.ts';

/** The text of a settings file with one brand; it contains only settings that differ from the defaults. @param nowMs the date in its first line */
export function settingsText(answers: BrandAnswers, check: BrandCheck, nowMs: number): string {
  const { brand, ...given } = answers;
  const findings = [...check.findings, ...check.reports.flatMap((report) => report.findings)];
  const zone = check.findings.find(({ code }) => code === 'time_zone')?.message ?? '';
  const startDate = 'the first day to read: an earlier day gives more history';
  const reasons: Record<string, string> = { startDate, timeZone: zone };
  const settings = [
    ...Object.entries(given).map(([name, value]) => {
      const { [name]: why = '' } = reasons;
      return { path: [name], value, why, isCertain: true };
    }),
    ...findings.flatMap(({ setting }) => setting ?? []),
  ];
  return [
    `// Written by "brand-reports init" on ${dayOf(nowMs, 'UTC')}. docs/reference/settings.md describes all settings.`,
    '{',
    '  "brands": {',
    `    ${stringifyJson(brand)}: {`,
    ...linesOf(settings, 0, '      '),
    '    },',
    '  },',
    '}',
    '',
  ].join('\n');
}

function linesOf(settings: readonly ProposedSetting[], depth: number, space: string): string[] {
  const byName = Map.groupBy(settings, ({ path }) => path[depth] ?? '');
  return [...byName].flatMap(([name, all]) => {
    const [first] = all;
    if (!first || first.path.length > depth + 1)
      return [`${space}${stringifyJson(name)}: {`, ...linesOf(all, depth + 1, `${space}  `), `${space}},`];
    const { why, value, isCertain } = all.find((each) => each.isCertain) ?? first;
    const setting = `${isCertain ? '' : '// '}${stringifyJson(name)}: ${stringifyJson(value)},`;
    // A line break would end the comment.
    const comment = why.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, ' ');
    return [...(why === '' ? [] : [`// ${comment}`]), setting].map((line) => space + line);
  });
}
