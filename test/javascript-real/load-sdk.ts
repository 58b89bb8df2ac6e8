/** Loads a library of this folder's package. `T` declares what the test uses: the type check runs without the library. */
export const loadSdk = async <T>(name: string): Promise<T> => (await import(name)) as T;
