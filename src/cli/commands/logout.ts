import { readSecrets } from '../../config/secrets.ts';
import { deleteLogin } from '../../remote/login.ts';
import type { SetUp } from '../command.ts';
import { note } from '../context.ts';

export const logout: SetUp = (command, context) => {
  command.action(() => {
    const { url } = readSecrets(context.paths.login);
    deleteLogin(context.paths);
    note(
      context,
      url === undefined
        ? 'You were not logged in.'
        : `Logged out of ${url}. Its key is still valid; to end that, on its machine: gw keys revoke ID`,
    );
    if (context.env.GW_URL) note(context, `GW_URL is still set to ${context.env.GW_URL}: unset GW_URL`);
  });
};
