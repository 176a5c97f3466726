/** Other tools read all of `current/<table>`: a missing, wrong or superfluous link gives wrong rows, and no ledger shows it. */
import { existsSync, lstatSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type CommittedDay, snapshotsByTable } from '../shared/lake/read.ts';
import { LOCAL_CATALOG_FOLDER, dayPartition, partitionPath, versionKey } from '../shared/lake/paths.ts';
import type { Partition } from '../shared/ports.ts';
import { shellWord } from '../shared/base/shell-word.ts';

export interface LinkDamage {
  /** From the names of its folders; empty if a folder's name has no brand or day. */
  brand: string;
  dt: string;
  snapshot: string;
  message: string;
  advice: string;
}

export function linkAt(table: string, partition: Partition, snapshot: string): string {
  return join(LOCAL_CATALOG_FOLDER, table, partitionPath(partition), `${snapshot}.parquet`);
}

/** A command that makes `link` the same file as `file`. If `link` is a folder, `ln` would put the file into it. */
export function linking(file: string, link: string): string {
  const clear = isFolder(link) ? `rm -r -- ${shellWord(link)} && ` : '';
  return `${clear}mkdir -p ${shellWord(dirname(link))} && ln -f ${shellWord(file)} ${shellWord(link)}`;
}

/** @param days all days of the table whose ledgers name a version; a day that is not published yet may have any link */
export function linkDamages(folder: string, table: string, days: readonly CommittedDay[]): LinkDamage[] {
  const root = join(folder, LOCAL_CATALOG_FOLDER, table);
  const unpublished = new Set<string>();
  const objects = new Map<string, string>();
  for (const { brand, report, day, committed } of days) {
    const links = join(root, partitionPath(dayPartition(brand, day)));
    const snapshot = new Map(snapshotsByTable(report, committed)).get(table);
    if (!committed.published) unpublished.add(links);
    else if (snapshot !== undefined)
      objects.set(join(links, `${snapshot}.parquet`), join(folder, versionKey(table, brand, day, snapshot)));
  }
  const folders = new Set(
    [...objects.keys()].flatMap((link) => [dirname(link), dirname(dirname(link)), root]),
  );
  const isRead = (path: string) => path.endsWith('.parquet') || folders.has(path) || isFolder(path);
  const damageOf = (path: string, problem: string, advice: string): LinkDamage => {
    const [, brand = '', dt = ''] = /^\/brand=([^/]*)(?:\/dt=([^/]*))?/.exec(path.slice(root.length)) ?? [];
    return { brand, dt, snapshot: basename(path, '.parquet'), message: `${path} ${problem}`, advice };
  };
  const files = new Set(filesIn(root));
  const strays = [...files]
    .filter((path) => isRead(path) && !unpublished.has(dirname(path)))
    .filter((path) => !objects.has(path) && !objects.has(dirname(path)))
    .map((path) => damageOf(path, 'is named by no ledger', `rm -- ${shellWord(path)}`));
  const wrong = [...objects]
    // A snapshot that is lost is a finding of its own.
    .filter(([link, object]) => existsSync(object) && !(files.has(link) && isSame(link, object)))
    .map(([link, object]) =>
      damageOf(link, 'is missing or is not the current snapshot', linking(object, link)),
    );
  // A link in the place of a folder is removed before files are linked into the folder.
  return [...strays, ...wrong];
}

/** Links to folders are not followed: they lead to files of another day or of somebody else. */
function filesIn(path: string): string[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found?.isDirectory()) return found ? [path] : [];
  return readdirSync(path).flatMap((name) => filesIn(join(path, name)));
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

/** Copies of a lake have copies of its files instead of links. */
function isSame(link: string, object: string): boolean {
  if (!existsSync(link) || !statSync(link).isFile()) return false;
  const [one, other] = [statSync(link), statSync(object)];
  return (one.ino === other.ino && one.dev === other.dev) || readFileSync(link).equals(readFileSync(object));
}
