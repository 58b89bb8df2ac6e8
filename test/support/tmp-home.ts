import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Takes the removal of the directory; a suite's `beforeAll` passes its own. */
type WhenDone = (remove: () => Promise<void>) => void;

/** A fresh state directory, removed after the test that asked for it. */
export function tmpHome(whenDone: WhenDone = onTestFinished): string {
  const home = mkdtempSync(join(tmpdir(), 'gw-test-'));
  whenDone(() => rm(home, { recursive: true, force: true, maxRetries: 3 }));
  return home;
}
