import type { Polling } from './reader.ts';
import { type AnyRun, type Name, OPERATIONS, type Operations, type Reader } from './registry.ts';
import type { Sources } from './sources.ts';

/** This machine's database. Modules are loaded by the first operation that needs them, for the sake of short commands. */
export function localReader(sources: Sources): Reader {
  const operations = Object.fromEntries(
    (Object.keys(OPERATIONS) as Name[]).map((name) => [
      name,
      async (input = {}) => (await runOf(name))(sources, input),
    ]),
  ) as unknown as Operations;
  const polling: Polling = {
    calendar: async () => sources.calendar,
    requests: async (query) => (await operations.requestPage(query)).data,
    async followRequests(filter) {
      const { followMatching } = await import('./run/requests.ts');
      return followMatching(sources, filter);
    },
    async dashboard() {
      const { localDashboard } = await import('./run/dashboard.ts');
      return localDashboard(sources);
    },
  };
  return Object.assign(operations, polling);
}

/** The function of an operation. */
export async function runOf(name: Name): Promise<AnyRun<Sources>> {
  const functions: Record<string, unknown> = await OPERATIONS[name][1].run();
  // The registry's type has checked that there is one.
  return functions[name] as AnyRun<Sources>;
}
