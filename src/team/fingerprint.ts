import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Fingerprint that distinguishes a state directory from a copy: the machine id and the database file's inode. Excludes
 * the device number, which may change at boot.
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
      // The file doesn't exist on this system.
    }
  }
  return hostname();
}
