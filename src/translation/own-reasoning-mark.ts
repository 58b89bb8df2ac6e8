/**
 * How the seal begins on thoughts that gw gives a client of another wire: none but gw can read such ones, and they are
 * left out of what goes to a provider as it is.
 */
export const OWN_REASONING_MARK = 'gw1.';
