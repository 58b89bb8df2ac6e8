import { homedir } from 'node:os';
import type { LoggedCall } from '../agents/logs/logged-call.ts';
import { messageOf } from '../errors.ts';
import type { CallView } from '../operations/schemas/calls.ts';
import { DEFAULT_PROJECT, findProject } from '../store/accounts/projects.ts';
import { importBatch, notImported, readForgottenUsage } from '../store/archive/import-usage.ts';
import type { Core } from './open-core.ts';

/** Calls imported in one transaction. */
const BATCH = 200;

/**
 * Imports what agents log beside gw as they log it, while `import.watch` is on: until then, nothing of it is loaded.
 * The returned function stops it.
 */
export function startLogWatch(
  core: Core,
  env: Readonly<Record<string, string | undefined>>,
): () => Promise<void> {
  let running: Promise<() => Promise<void>> | undefined;
  const apply = () => {
    const isOn = core.configuration.current().settings['import.watch'] === 'on';
    if (isOn) running ??= start(core, env);
    else void stop();
  };
  async function stop(): Promise<void> {
    const started = running;
    running = undefined;
    await (await started)?.();
  }
  core.configuration.onChange(apply);
  apply();
  return stop;
}

async function start(core: Core, env: Readonly<Record<string, string | undefined>>) {
  const { db, clock, ledger, log, paths } = core;
  const [
    { watchLogs },
    { missingCalls },
    { createImported },
    { createListPrice },
    { AGENTS },
    { calls },
    prices,
  ] = await Promise.all([
    import('../insight/import/watch-logs.ts'),
    import('../insight/coverage/find-bypass.ts'),
    import('../insight/import/imported-call.ts'),
    import('../insight/list-price.ts'),
    import('../agents/table.ts'),
    import('../operations/run/calls.ts'),
    import('../operations/run/prices.ts'),
  ]);
  const projectId = findProject(db, DEFAULT_PROJECT);
  const scope = { project: DEFAULT_PROJECT, projectId, admin: true };
  const reader = {
    calls: (query: Parameters<typeof calls>[1]): Promise<CallView[]> => calls({ db, scope }, query),
  };

  async function importCalls(agent: (typeof AGENTS)[number]['name'], logged: LoggedCall[]): Promise<void> {
    const priceOf = createListPrice(await prices.prices({ db }), paths.prices);
    const isForgotten = readForgottenUsage(db);
    const found = notImported(db, logged.map(createImported(agent, priceOf)));
    const keys = new Set(found.map(({ key }) => key));
    const fresh = logged.filter(({ key }) => keys.has(key));
    await ledger.settled();
    const missing = await missingCalls(agent, reader, fresh, clock.now());
    const lacking = new Set(
      missing.filter((call) => !isForgotten(call.sessionId, call.at)).map(({ key }) => key),
    );
    const all = found.filter(({ key }) => lacking.has(key));
    for (let i = 0; i < all.length; i += BATCH)
      await ledger.write(() => importBatch(db, all.slice(i, i + BATCH), projectId));
  }

  return watchLogs({
    agents: AGENTS,
    clock,
    env,
    home: env.HOME || env.USERPROFILE || homedir(),
    importCalls,
    onError: (error) => log.error({ error: messageOf(error) }, 'the logs of agents could not be read'),
  });
}
