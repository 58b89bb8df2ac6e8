import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Tells a state directory from a copy of it: by the machine and the database file's inode. The device number is left
 * out, as it may change when a machine starts.
 */
export function fingerprintOf(database: string): string {
  const { ino } = statSync(database, { bigint: true });
  return createHash('sha256').update(`${machineId()}\n${ino}`).digest('hex');
}

function machineId(): string {
  for (const file of ['/etc/machine-id', '/var/lib/dbus/machine-id']) {
    try {
      const id = readFileSync(file, 'utf8').trim();
      if (id !== '') return id;
    } catch {
      // Not on this system.
    }
  }
  return hostname();
}
