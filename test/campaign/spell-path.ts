import type { Dice } from '../fuzz/dice.ts';

type Spell = (path: string, dice: Dice) => string;

/** What servers decode, cut or resolve before they route. */
const SPELLS: readonly Spell[] = [
  (path, dice) => {
    const at = 4 + dice.below(Math.max(1, path.length - 4));
    const code = (path.charCodeAt(at) || 0x20).toString(16).padStart(2, '0');
    return `${path.slice(0, at)}${dice.pick(['%', '%25'])}${dice.chance(0.5) ? code : code.toUpperCase()}${path.slice(at + 1)}`;
  },
  (path, dice) =>
    path + dice.pick([';x', '%20', '%00', '.', '%2e', '/', '//', '/.', '%3Fx', '%23', '\\', '/x/..']),
  (path) => path.replace('/v1/', '/v1/;x/'),
  (path, dice) =>
    `/v1/${dice.pick(['./', 'files/../', 'files/%2e%2e/', 'files/..;/', 'files%2F../', '/', 'v1/', 'v1/v1/'])}${path.slice(4)}`,
  (path) => path.replace('/v1/', '/v1%2f'),
  (path) => path.replace('/v1/', '/'),
  (path) => path.toUpperCase().replace('/V1', '/v1'),
  (path, dice) => path.replace(/[a-z](?!1)/g, (letter) => (dice.chance(0.2) ? letter.toUpperCase() : letter)),
  (path) => path.replace(/.$/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
];

export const spellPath: Spell = (path, dice) => dice.pick(SPELLS)(path, dice);
