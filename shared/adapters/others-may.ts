import { type Stats, lstatSync, readlinkSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { shellWord } from '../base/shell-word.ts';

/** By the rules of OpenSSH, for users other than root and this user. An owner counts: an owner can make a file writable. */
export function othersMay({ uid, mode }: Pick<Stats, 'uid' | 'mode'>): 'write' | 'read' | 'nothing' {
  if (!isOurs(uid) || (mode & 0o022) !== 0) return 'write';
  // Files that root hands to a service, as Kubernetes does, are readable by the group of the service.
  return (mode & (uid === process.getuid?.() ? 0o055 : 0o005)) === 0 ? 'nothing' : 'read';
}

function isOurs(uid: number): boolean {
  return uid === 0 || uid === process.getuid?.();
}

/** Users who can replace the target of a path, because they may change a folder on the way. */
export interface Intruders {
  /** `others`: every user of the machine, or the owner of a link that only the owner may change. */
  who: 'others' | 'another user' | 'a group';
  why: string;
  nextStep: string;
}

/** By the rules of OpenSSH. A group is reported last, because it may be the user's own group. */
export function mayReplace(path: string): Intruders | undefined {
  let owner: Intruders | undefined;
  let group: Intruders | undefined;
  for (const { folder, uid, mode, linkOf } of foldersTo(path)) {
    const found = (who: Intruders['who'], why: string, change?: string) => {
      return { who, why, nextStep: keepOut(folder, uid, change) };
    };
    if (!isTrusted(uid)) owner ??= found('another user', `${folder} belongs to the user ${uid}`);
    if ((mode & 0o022) === 0) continue;
    // With the sticky bit, as in /tmp, users can rename and remove only their own files and links.
    if ((mode & 0o1000) !== 0) {
      if (linkOf === undefined || isOurs(linkOf)) continue;
      return found('others', `a link in ${folder} belongs to the user ${linkOf}`);
    }
    const why = `the mode of ${folder} is ${modeOf(mode)}`;
    if ((mode & 0o002) !== 0) return found('others', why, 'o-w');
    // Root chooses the groups of its folders, and files of group members belong to these members.
    if (isMine(uid)) group ??= found('a group', why, 'g-w');
  }
  return owner ?? group;
}

/**
 * Who may change the names in the folder, or replace the folder by the rules of `mayReplace`. `others`: every user of the
 * machine may put another file in the place of each file.
 */
export function mayChange(folder: string): Intruders | undefined {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (!found) return undefined;
  const { uid, mode } = found;
  const why = `the mode of ${folder} is ${modeOf(mode)}`;
  const toAll = (who: Intruders['who']) => ({ who, why, nextStep: keepOut(folder, uid, 'o-w') });
  if ((mode & 0o1002) === 0o002) return toAll('others');
  const around = mayReplace(folder);
  if (around && around.who !== 'a group') return around;
  const owner = `${folder} belongs to the user ${uid}`;
  if (!isTrusted(uid)) return { who: 'another user', why: owner, nextStep: keepOut(folder, uid) };
  // With the sticky bit, users can only add names.
  if ((mode & 0o002) !== 0) return toAll('another user');
  return (mode & 0o020) === 0 ? around : { who: 'a group', why, nextStep: keepOut(folder, uid, 'g-w') };
}

/** Root may receive folders of other users, e.g. folders of the host in a container. */
function isMine(uid: number): boolean {
  const me = process.getuid?.();
  return uid === me || me === 0;
}

function isTrusted(uid: number): boolean {
  return isMine(uid) || uid === 0;
}

/** @param change of the mode, which only the owner can make */
function keepOut(folder: string, uid: number, change?: string): string {
  return change !== undefined && isMine(uid)
    ? `run: chmod ${change} ${shellWord(folder)}`
    : 'use a folder that belongs to you.';
}

export function modeOf(mode: number): string {
  return (mode & 0o7777).toString(8);
}

interface FolderOnTheWay extends Pick<Stats, 'uid' | 'mode'> {
  folder: string;
  /** The owner of the link in the folder that the path follows. */
  linkOf?: number;
}

/** Every folder in which the system looks up a part of the path, or of a link on the path. */
function* foldersTo(path: string): Generator<FolderOnTheWay, void, undefined> {
  const names = (isAbsolute(path) ? path : `${process.cwd()}/${path}`).split('/');
  let folder = '/';
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const around = statSync(folder, { throwIfNoEntry: false });
    const next = join(folder, name);
    const found = lstatSync(next, { throwIfNoEntry: false });
    // A file that a shell has already removed, but still has open, may have no folder.
    if (!around || !found) return;
    const { uid, mode } = around;
    if (!found.isSymbolicLink()) {
      if (next !== folder) yield { folder, uid, mode };
      folder = next;
      continue;
    }
    yield { folder, uid, mode, linkOf: found.uid };
    const target = readlinkSync(next);
    names.unshift(...target.split('/'));
    if (isAbsolute(target)) folder = '/';
  }
}
