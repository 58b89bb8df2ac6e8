import { networkInterfaces } from 'node:os';
import { orElse } from '../errors.ts';

/**
 * The addresses of this machine in other networks. Without link-local ones, which come and go with containers and have a
 * scope (https://nodejs.org/api/os.html#osnetworkinterfaces). Empty where the system doesn't tell.
 */
export function localAddresses(): string[] {
  const all = orElse(() => Object.values(networkInterfaces()).flat(), []);
  return all.flatMap((each) => (each && !each.internal && !isLinkLocal(each) ? [each.address] : []));
}

const isLinkLocal = ({ address, scopeid }: { address: string; scopeid?: number | undefined }): boolean =>
  (scopeid ?? 0) !== 0 || address.startsWith('169.254.');
