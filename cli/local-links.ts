/**
 * The folder `lake/<table>` of a local lake, which other tools read whole: each day has one link there, to its current
 * snapshot. A file that is missing, another one or too many changes what they find, and no ledger shows it.
 */
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type CommittedDay, committedSnapshotKey } from '../shared/lake/documents/read.ts';
import { LOCAL_CATALOG_FOLDER, dayPartition, partitionPath } from '../shared/lake/paths.ts';
import { shellWord } from '../shared/shell-word.ts';

/** What is wrong with a file that other tools read, and the command that heals it. */
export interface LinkDamage {
  /** As its folders name them; empty where they do not. */
  brand: string;
  dt: string;
  /** The version that it is by its name. */
  snapshot: string;
  message: string;
  advice: string;
}

/** Where the link of a day lies in the folder of the lake. */
export function linkKey({ brand, report, day, committed }: CommittedDay): string {
  const partition = partitionPath(dayPartition(brand, day));
  return join(LOCAL_CATALOG_FOLDER, report.table, partition, `${committed.snapshot}.parquet`);
}

/** A command that makes `link` the same file as `file`. */
export function linking(file: string, link: string): string {
  return `mkdir -p ${shellWord(dirname(link))} && ln -f ${shellWord(file)} ${shellWord(link)}`;
}

/** @param days all days of the table whose ledgers name a version; one that is not published yet may have any */
export function linkDamages(folder: string, table: string, days: readonly CommittedDay[]): LinkDamage[] {
  const root = join(folder, LOCAL_CATALOG_FOLDER, table);
  const unpublished = new Set<string>();
  const objects = new Map<string, string>();
  for (const day of days) {
    const link = join(folder, linkKey(day));
    if (day.committed.published) objects.set(link, join(folder, committedSnapshotKey(day)));
    else unpublished.add(dirname(link));
  }
  const files = existsSync(root) ? readdirSync(root, { recursive: true, encoding: 'utf8' }) : [];
  const links = new Set(files.filter((name) => name.endsWith('.parquet')).map((name) => join(root, name)));
  return [...new Set([...links, ...objects.keys()])].flatMap((link): LinkDamage[] => {
    const object = objects.get(link);
    const isThere = links.has(link);
    if (unpublished.has(dirname(link)) || (object && isThere && hasContentOf(link, object))) return [];
    const [, brand = '', dt = ''] = /^\/brand=([^/]*)(?:\/dt=([^/]*))?/.exec(link.slice(root.length)) ?? [];
    const of = { brand, dt, snapshot: basename(link, '.parquet') };
    if (!object)
      return [{ ...of, message: `no ledger names ${link} as current`, advice: `rm -- ${shellWord(link)}` }];
    const problem = isThere ? 'is not the current snapshot' : 'is missing';
    return [{ ...of, message: `${link} ${problem}`, advice: linking(object, link) }];
  });
}

/** Copies of a lake have copies of its files instead of links. A snapshot that is lost is a finding of its own. */
function hasContentOf(link: string, object: string): boolean {
  if (!existsSync(object)) return true;
  if (!existsSync(link) || !statSync(link).isFile()) return false;
  const [one, other] = [statSync(link), statSync(object)];
  return (one.ino === other.ino && one.dev === other.dev) || readFileSync(link).equals(readFileSync(object));
}
