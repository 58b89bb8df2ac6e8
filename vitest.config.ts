import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Real agents and Python clients: npm run test:agents and test:python.
    exclude: [...configDefaults.exclude, 'test/agents-real/**', 'test/python-real/**'],
    // Modules are silent on import and keep no state, so that files can share a process and what it has loaded.
    isolate: false,
    // One more than there are cores: daemons, terminals and clients under test mostly wait.
    maxWorkers: availableParallelism() + 1,
    // What takes a second or two alone takes several on a machine that has other work.
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
