import { terminalOf } from '../../terminal/terminal.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { note, say, sayJson, tell } from '../context.ts';
import { addListenOptions, flagsOf } from '../daemon/listen-options.ts';
import { startDaemon } from '../daemon/start.ts';
import { ensureDefaults } from '../first-run/default-keys.ts';
import { firstSteps } from '../first-run/first-steps.ts';
import { daemonJson } from '../status/view.ts';
import { withStore } from '../with-store.ts';

export const start: SetUp = (command, context) => {
  addListenOptions(command)
    .option(...AS_JSON)
    .action(async (options) => {
      // Creates the keys after the daemon answers: they are shown only once, and a failed start must not lose them.
      const { daemon, already } = await startDaemon(context, flagsOf(options), options);
      const keys = await withStore(context, (db) => ensureDefaults(db, context.clock.now()));
      if (options.json) {
        sayJson(context, { ...daemonJson({ kind: 'running', daemon }), already_running: already, keys });
        return;
      }
      say(context, `gw is ${already ? 'already ' : ''}running (pid ${daemon.pid}).`);
      tell(context, firstSteps(daemon, keys, terminalOf(context.stdout, context.env)));
      if (already && options.port !== undefined && Number(options.port) !== daemon.port) {
        note(context, `It stays on port ${daemon.port}. To move it: gw restart --port ${options.port}`);
      }
    });
};
