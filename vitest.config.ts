import { accessSync, constants, statfsSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';

const MEMORY = '/dev/shm';

/** Temporary homes stand in memory where it has room: each transaction of a daemon waits for the disk otherwise. */
function temporaryFolder(): string {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > 2 * 1024 ** 3 ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}

export default defineConfig({
  // An optional peer of gw that is among the packages of the tests.
  resolve: { alias: { '@azure/identity': join(import.meta.dirname, 'test/node_modules/@azure/identity') } },
  test: {
    // Real agents and client libraries: npm run test:agents, test:javascript and test:python. Pictures: npm run pictures.
    exclude: [...configDefaults.exclude, 'test/{agents,javascript,python}-real/**', 'test/pictures/**'],
    // Modules are silent on import and keep no state, so that files can share a process and what it has loaded.
    isolate: false,
    env: { TMPDIR: process.env.TMPDIR ?? temporaryFolder() },
    // One more than there are cores: daemons, terminals and clients under test mostly wait.
    maxWorkers: availableParallelism() + 1,
    // Bounds for what hangs, not for what is slow: a second's work takes ten on a machine that has other work.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
