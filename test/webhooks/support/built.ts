import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

/** Builds dist/ if it is older than src/: processes that a test starts run the built code. `npm test` builds before. */
export function ensureBuilt(): void {
  const built = join(ROOT, 'dist', 'webhooks', 'dispatcher.js');
  const newest = Math.max(
    ...readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs),
  );
  if (existsSync(built) && statSync(built).mtimeMs >= newest) return;
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: 'inherit' });
}
