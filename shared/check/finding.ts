import { type Json, stringifyJson } from '../base/json.ts';

/** What the connection test found, and what to do if the level is not `ok`. */
export interface Finding {
  /** `undecided`: numbers would be wrong or missing until the settings decide; the test fails as with an `error`. */
  level: 'ok' | 'warning' | 'undecided' | 'error';
  code: string;
  message: string;
  setting?: ProposedSetting;
}

export interface ProposedSetting {
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
