import type { Stats } from 'node:fs';

/**
 * What users other than root and this one may do with a file or folder, as OpenSSH judges it. Whose file it is decides too:
 * its owner can make it writable.
 */
export function othersMay({ uid, mode }: Pick<Stats, 'uid' | 'mode'>): 'write' | 'read' | 'nothing' {
  const isOwn = uid === process.getuid?.();
  if ((!isOwn && uid !== 0) || (mode & 0o022) !== 0) return 'write';
  // What root hands to a service, as Kubernetes does, is readable by the group of the service.
  return (mode & (isOwn ? 0o055 : 0o005)) === 0 ? 'nothing' : 'read';
}
