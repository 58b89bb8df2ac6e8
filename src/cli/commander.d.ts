/** commander with the types of options and arguments inferred from their definitions. Only types: nothing of it runs. */
declare module 'commander' {
  export * from '@commander-js/extra-typings';
}
