import { useSyncExternalStore } from 'preact/compat';
import { type Address, parseAddress } from './address.ts';

export const useAddress = (): Address => parseAddress(useSyncExternalStore(subscribe, () => location.hash));

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
}
