import { type CommandEntry, RUN } from '../command.ts';

/** The catalog's line of the command that is bundled apart. */
export const SERVE: CommandEntry = {
  name: 'serve',
  group: RUN,
  rare: true,
  reach: 'local',
  about: 'run gw in the foreground (containers, systemd, launchd)',
  load: async () => (await import('../commands/serve.ts')).serve,
};
