package daemon

const numbersText = `
`
