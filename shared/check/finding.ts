/** Texts of the service are in comments and in JSON only, so that no field name can add a setting. */
import { dayOf } from '../base/days.ts';
import { type Json, stringifyJson } from '../base/json.ts';

/** What the connection test found, and what to do if the level is not `ok`. */
export interface Finding {
  /** `undecided`: numbers would be wrong or missing until the settings decide; the test fails as with an `error`. */
  level: 'ok' | 'warning' | 'undecided' | 'error';
  code: string;
  message: string;
  setting?: ProposedSetting;
}

interface ProposedSetting {
  /** From the settings of the brand on, such as `reports`, `order_list`, `startDate`. */
  path: readonly string[];
  value: Json;
  why: string;
  /** Otherwise a person has to decide, so that it is written as a comment. */
  isCertain: boolean;
}

export const ok = (code: string, message: string): Finding => ({ level: 'ok', code, message });
export const warning = (code: string, message: string): Finding => ({ level: 'warning', code, message });
export const error = (code: string, message: string): Finding => ({ level: 'error', code, message });

export function proposed(level: Finding['level'], code: string, setting: ProposedSetting): Finding {
  const { path, value, why } = setting;
  const [, report, ...inReport] = path[0] === 'reports' ? path : [];
  const names = report === undefined ? path : inReport;
  const text = names.reduceRight(
    (inner, name, index) => `${JSON.stringify(name)}: ${index === names.length - 1 ? inner : `{ ${inner} }`}`,
    stringifyJson(value),
  );
  const place = report === undefined ? '' : ` in reports.${report}`;
  return { level, code, message: `${why}: set ${text}${place}`, setting };
}

/**
 * The text of a settings file with one brand; it contains only settings that differ from the defaults.
 * @param given by setting; a finding that is certain replaces its value @param nowMs the date in the first line
 */
export function settingsText(
  brand: string,
  given: Readonly<Record<string, string>>,
  findings: readonly Finding[],
  nowMs: number,
): string {
  const { message: timeZone = '' } = findings.find(({ code }) => code === 'time_zone') ?? {};
  const reasons: Record<string, string> = {
    startDate: 'the first day to read: an earlier day gives more history',
    timeZone,
  };
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
    const { why, value, isCertain } = all.findLast((each) => each.isCertain) ?? first;
    const setting = `${isCertain ? '' : '// '}${stringifyJson(name)}: ${stringifyJson(value)},`;
    // A line break would end the comment.
    const comment = why.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, ' ');
    return [...(why === '' ? [] : [`// ${comment}`]), setting].map((line) => space + line);
  });
}
