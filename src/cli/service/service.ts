import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { writing } from '../../write-fault.ts';
import type { Context } from '../context.ts';
import { CliError } from '../exit.ts';
import type { Argv } from './definitions.ts';
import { type ServiceManager, serviceManager } from './manager.ts';

/** How long a manager may take; a stop waits for running requests. */
const COMMAND_LIMIT_MS = 60_000;

/** The manager that the service of this state directory is installed with; undefined if it isn't. */
export function installedService(context: Context): ServiceManager | undefined {
  const manager = serviceManager(context);
  const text = definitionOf(manager);
  return text?.includes(context.paths.home) ? manager : undefined;
}

/** The installed definition; undefined without one. */
export function definitionOf({ file }: ServiceManager): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** Writes the definition and starts the service. If the manager refuses it, everything is put back. */
export async function installService(context: Context, manager: ServiceManager): Promise<void> {
  const { file, definition, install, uninstall } = manager;
  const before = definitionOf(manager);
  if (before !== undefined && !before.includes(context.paths.home)) {
    throw new CliError(
      `${file} runs another gw, of another GW_HOME. To remove it: gw service uninstall, with its GW_HOME`,
    );
  }
  writing(file, () => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, definition, { mode: 0o600 });
  });
  try {
    await runAll(context, install);
  } catch (error) {
    if (before === undefined) {
      await runAll(context, uninstall).catch(() => {});
      rmSync(file, { force: true });
    } else writeFileSync(file, before);
    throw error;
  }
}

/** Stops the service and deletes its definition. */
export async function uninstallService(context: Context, { file, uninstall }: ServiceManager): Promise<void> {
  await runAll(context, uninstall);
  rmSync(file, { force: true });
}

/** Runs commands one after the other. Throws an error for people at the first that fails. */
export async function runAll({ env }: Context, commands: readonly Argv[]): Promise<void> {
  for (const [name, ...args] of commands) {
    await new Promise<void>((resolve, reject) => {
      execFile(name, args, { env: { ...env }, timeout: COMMAND_LIMIT_MS }, (error, _stdout, stderr) => {
        if (!error) return resolve();
        const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
        const why = isMissing ? 'it is not installed' : stderr.trim() || error.message;
        reject(
          new CliError(
            `${[name, ...args].join(' ')} failed: ${why}. Without a service manager: gw start, or gw serve in a container`,
          ),
        );
      });
    });
  }
}
