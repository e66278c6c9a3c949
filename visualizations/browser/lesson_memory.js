const PLACE = "maskscope_progress"
let recalled = false // once for each load of the page: the server's session is as new as that
const draw = ({ data, setTriggerValue }) => {
  let kept = ""
  try { kept = sessionStorage.getItem(PLACE) ?? "" } catch { return } // storage may be forbidden
  if (!recalled && kept && kept !== data.code) {
    recalled = true
    setTriggerValue("recall", kept)
    return
  }
  recalled = true
  if (data.code) sessionStorage.setItem(PLACE, data.code)
}
export default draw
